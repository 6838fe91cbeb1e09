/** The platform's timestamps: six digits of fraction and a numeric offset. `ms` is Unix milliseconds. */
export const isoTimestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, -1)}000+00:00`;

/** The platform's timestamp of Unix microseconds. */
export function isoMicroseconds(us: number): string {
  const ms = Math.floor(us / 1_000);
  return `${new Date(ms).toISOString().slice(0, -1)}${String(Math.floor(us - ms * 1_000)).padStart(3, '0')}+00:00`;
}

const FRACTION = /\.\d{3}(\d{1,3})/;

/** Unix microseconds of a timestamp in ISO 8601; NaN for any other text. */
export const microsecondsOf = (text: string): number =>
  Date.parse(text) * 1_000 + Number((FRACTION.exec(text)?.[1] ?? '').padEnd(3, '0'));

/** Whether a text in ISO 8601 begins with a day that its month has: `Date.parse` takes 30 February for 2 March. */
export function isCalendarDay(text: string): boolean {
  const [year = 0, month = 0, day = 0] = text.slice(0, 'YYYY-MM-DD'.length).split('-').map(Number);
  return day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}
