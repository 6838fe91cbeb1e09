import { createHmac, timingSafeEqual } from 'node:crypto';

/** How long a signed URL is valid. @source https://docs.discord.com/developers/reference#signed-attachment-cdn-urls */
const LIFETIME_SEC = 24 * 60 * 60;

/** Signs attachment URLs with `ex` (expiry), `is` (issue; both hexadecimal Unix seconds) and `hm` (HMAC-SHA256). */
export interface UrlSigner {
  /** Adds a signature to an attachment URL, or replaces the one it has. Other URLs are returned unchanged. */
  sign(url: string, nowMs: number): string;
  /** Checks the signature of a request's path and query; `bare` means that it has none. */
  check(path: string, query: string, nowMs: number): 'valid' | 'bare' | 'invalid';
}

const ATTACHMENT = /^(?:https?:\/\/[^/?#]+)?(\/attachments\/[^?#]+)/;

/** @param secret At least 32 bytes, the same on every shard. */
export function createUrlSigner(secret: Uint8Array): UrlSigner {
  const digest = (path: string, ex: string, is: string): Buffer =>
    createHmac('sha256', secret).update(`${path}\n${ex}\n${is}`).digest();
  return {
    sign(url, nowMs) {
      const match = ATTACHMENT.exec(url);
      if (!match) return url;
      const [bare, path = ''] = match;
      const issued = Math.floor(nowMs / 1000);
      const [ex, is] = [(issued + LIFETIME_SEC).toString(16), issued.toString(16)];
      return `${bare}?ex=${ex}&is=${is}&hm=${digest(path, ex, is).toString('hex')}&`;
    },
    check(path, query, nowMs) {
      const asked = new URLSearchParams(query);
      const [ex, is, hm] = [asked.get('ex'), asked.get('is'), asked.get('hm')];
      if (ex === null && is === null && hm === null) return 'bare';
      if (ex === null || is === null || hm === null || !/^[0-9a-f]{64}$/.test(hm)) return 'invalid';
      if (!timingSafeEqual(digest(path, ex, is), Buffer.from(hm, 'hex'))) return 'invalid';
      return Number.parseInt(ex, 16) * 1000 > nowMs ? 'valid' : 'invalid';
    },
  };
}
