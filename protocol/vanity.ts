const CODE = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])$/;

/** Normalises a vanity code (case-insensitive). @returns null when the text is not a valid code. */
export function vanityCode(text: string): string | null {
  const code = text.toLowerCase();
  return CODE.test(code) ? code : null;
}
