const FRACTION = /\.\d{3}(\d{1,3})/;

/** Unix microseconds of a timestamp in ISO 8601; NaN for any other text. */
export const microsecondsOf = (text: string): number =>
  Date.parse(text) * 1_000 + Number((FRACTION.exec(text)?.[1] ?? '').padEnd(3, '0'));
