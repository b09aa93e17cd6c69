// How numbers are written: the same words as show/numbers.py, digit for digit.

const UNDEFINED = "–";
// Past this, commas no longer help a reader, and a float no longer holds every whole number.
const LONG = 1e15;

// JavaScript rounds a tie up and Python to the even digit; a tie is a number whose digits end with the 5 after the last
// one kept. A hundred digits tell an exact 5 from one that only nearly is.
function rounded(size, digits, written) {
  const text = written(size, digits);
  const [mantissa, tail] = split(text);
  const [longer, longerTail] = split(written(size, Math.min(digits + 60, 100)));
  const point = longer.indexOf(".");
  const kept = point + 1 + digits;
  const rest = longer.slice(kept);
  const odd = Number(mantissa[mantissa.length - 1]) % 2 === 1;
  if (!odd || !/^50*$/.test(rest) || longerTail !== tail) return text;
  return (digits ? longer.slice(0, kept) : longer.slice(0, point)) + tail;
}

function split(text) {
  const at = text.indexOf("e");
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at)];
}

function fixed(value, digits) {
  const text = rounded(Math.abs(value), digits, (size, n) => size.toFixed(n));
  return value < 0 ? `-${text}` : text;
}

function scientific(value, digits) {
  const text = rounded(Math.abs(value), digits, (size, n) => size.toExponential(n));
  return (value < 0 ? `-${text}` : text).replace("e+", "e");
}

function commas(text) {
  const [whole, part] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return part === undefined ? grouped : `${grouped}.${part}`;
}

function halfEven(value) {
  const floor = Math.floor(value);
  const over = value - floor;
  if (over !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

function special(value) {
  if (Number.isNaN(value)) return UNDEFINED;
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  return scientific(value, 2);
}

// A size rounded, and "<" or ">" where rounding would have claimed 0 or the bound.
function bounded(size, decimals, bound) {
  const text = fixed(size, decimals);
  const step = 10 ** -decimals;
  if (size > 0 && Number(text) === 0) return [fixed(step, decimals), "<"];
  if (size < bound && bound <= Number(text)) return [fixed(bound - step, decimals), ">"];
  return [text, ""];
}

function signed(text, almost, negative) {
  if (!negative) return almost + text;
  return { "<": ">", ">": "<", "": "" }[almost] + "-" + text;
}

const STYLES = {
  share(value) {
    let [text, almost] = bounded(Math.abs(value), 3, 1);
    if (Number(text) < 1) text = text.slice(1);
    return signed(text, almost, value < 0);
  },
  percent(value) {
    const [text, almost] = bounded(Math.abs(value) * 100, 0, 100);
    return `${signed(text, almost, value < 0)} %`;
  },
  count(value) {
    const whole = halfEven(value);
    // Sums of weights such as 0.1 miss whole numbers by rounding only.
    if (Math.abs(value - whole) <= 1e-9 * Math.max(Math.abs(value), Math.abs(whole))) {
      return whole === 0 ? "0" : signed(commas(fixed(Math.abs(whole), 0)), "", whole < 0);
    }
    const decimals = Math.abs(value) < 100 ? 2 : 1;
    const text = fixed(Math.abs(value), decimals);
    if (Number(text) === 0) return signed(fixed(10 ** -decimals, decimals), "<", value < 0);
    return signed(commas(text), "", value < 0);
  },
  plain(value) {
    if (value === 0) return "0";
    const significant = Math.abs(value) >= 10 ? 4 : 3;
    const [mantissa, tail] = split(scientific(value, significant - 1));
    const exponent = Number(tail.slice(1));
    if (exponent < -4) return `${mantissa}e${exponent}`;
    const text = commas(fixed(Math.abs(value), Math.max(significant - 1 - exponent, 0)));
    return value < 0 ? `-${text}` : text;
  },
};

function written(value, style) {
  return !Number.isFinite(value) || Math.abs(value) >= LONG ? special(value) : STYLES[style](value);
}

function writtenLimits(low, high, style) {
  if (Number.isNaN(low) && Number.isNaN(high)) return "";
  const ends = [low, high].map((end) => (Number.isNaN(end) ? "?" : written(end, style)));
  return `${ends[0]} – ${ends[1]}`;
}
