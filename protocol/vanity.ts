const CODE = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])$/;

/** A guild's own invite code as it is kept; null for a text that is none. Letters of both cases are one. */
export function vanityCode(text: string): string | null {
  const code = text.toLowerCase();
  return CODE.test(code) ? code : null;
}
