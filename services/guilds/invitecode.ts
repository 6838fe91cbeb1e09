const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const CODE_CHARS = 8;

/** A random code of eight letters and digits. Bytes above the largest multiple of the alphabet are dropped, for uniformity. */
export function inviteCode(random: (size: number) => Uint8Array): string {
  const fair = 256 - (256 % ALPHABET.length);
  let code = '';
  while (code.length < CODE_CHARS) {
    for (const byte of random(CODE_CHARS - code.length)) {
      if (byte < fair) code += ALPHABET[byte % ALPHABET.length];
    }
  }
  return code;
}
