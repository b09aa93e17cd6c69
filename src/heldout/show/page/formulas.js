// Formulas as data, evaluated with the operations of show/explorer.py in the same order, so that values agree to the bit.

const OPERATORS = {
  "+": (a, b) => a + b,
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "/": (a, b) => (b === 0 ? NaN : a / b),
  neg: (a) => -a,
  sqrt: (a) => (a >= 0 ? Math.sqrt(a) : NaN),
  log: (a) => (a > 0 ? Math.log(a) : NaN),
  // Roots and squares are rounded correctly by every machine; a general power differs between machines in its last bit.
  pow: (a, b) => (b === 0.5 && a >= 0 ? Math.sqrt(a) : real(b === 2 ? a * a : a ** b)),
  abs: (a) => Math.abs(a),
  min: (a, b) => (b < a ? b : a),
  max: (a, b) => (b > a ? b : a),
};

function real(value) {
  return Number.isFinite(value) ? value : NaN;
}

function evaluated(expression, names) {
  if (typeof expression === "string") return names.get(expression);
  if (!Array.isArray(expression)) return numeric(expression);
  const operands = [];
  for (let at = 1; at < expression.length; at += 1) operands.push(evaluated(expression[at], names));
  return OPERATORS[expression[0]](...operands);
}

// JSON has neither infinity nor undefined numbers.
function numeric(value) {
  if (value === null) return NaN;
  return typeof value === "string" ? Number(value) : value;
}

// The names that a formula leans on.
function leansOn(expression, found = new Set()) {
  if (typeof expression === "string") found.add(expression);
  else if (Array.isArray(expression)) expression.slice(1).forEach((part) => leansOn(part, found));
  return found;
}

// A number as a person types it; with a comma for the point, too.
function typed(text) {
  const given = text.trim().replace(",", ".").replace("∞", "Infinity");
  return given === "" ? NaN : Number(given);
}
