// Formulas as data, evaluated with the operations of show/explorer.py in the same order, so that values agree to the bit,
// and written down as show/formula_words.py writes them.

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

// How tightly an operator binds, and how it is written between its operands.
const BINDING = { "+": [1, " + "], "-": [1, " − "], "*": [2, " · "], "/": [3, " / "] };
const ATOM = 9;

// The formula with words for its names.
function worded(expression, word) {
  return wordedTightly(expression, word)[0];
}

// The text, and how tightly its outermost operator binds.
function wordedTightly(expression, word) {
  if (typeof expression === "string") return [word(expression), ATOM];
  if (!Array.isArray(expression)) return [String(Number(numeric(expression).toPrecision(6))), ATOM];
  const [operator, ...operands] = expression;
  if (operator === "neg") return [`−${bracketed(operands[0], word, ATOM)}`, 2];
  if (!(operator in BINDING)) return [`${operator}(${operands.map((part) => worded(part, word)).join(", ")})`, ATOM];
  const [strength, sign] = BINDING[operator];
  const [left, right] = operands;
  // What is divided is bracketed unless it is a single number, on both sides: a slash on one line misleads easily.
  const first = bracketed(left, word, operator === "/" ? ATOM : strength);
  const second = bracketed(right, word, { "/": ATOM, "-": strength + 1 }[operator] ?? strength);
  return [first + sign + second, strength];
}

function bracketed(expression, word, least) {
  const [text, strength] = wordedTightly(expression, word);
  return strength >= least ? text : `(${text})`;
}

// A number as a person types it; with a comma for the point, too.
function typed(text) {
  const given = text.trim().replace(",", ".").replace("∞", "Infinity");
  return given === "" ? NaN : Number(given);
}
