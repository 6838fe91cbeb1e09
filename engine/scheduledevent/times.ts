const HAS_OFFSET = /(?:[Zz]|[+-]\d{2}:?\d{2})$/;
const HAS_TIME = /\d[Tt ]\d/;

/** Unix milliseconds of a valid ISO 8601 text. Without an offset it is UTC, whatever the time zone of the server. */
export const timeOf = (text: string): number =>
  Date.parse(HAS_TIME.test(text) && !HAS_OFFSET.test(text) ? `${text}Z` : text);
