import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { isUserId, type UserId } from '../../protocol/ids.ts';

/** The purpose that a signed link or ticket is bound to. */
export type Purpose = 'confirm' | 'reset' | 'factor';

/** Signs tickets that leave the server and return, and encrypts secrets that must not be readable in the database. */
export interface Keys {
  /**
   * A ticket for one purpose and user that expires. It is valid only while `state` is unchanged: when `state` contains what
   * the ticket changes, the ticket works once and needs no table.
   */
  ticket(purpose: Purpose, userId: UserId, untilMs: number, state: string): string;
  /** Parses a ticket without verifying it; null for malformed text. */
  claim(ticket: string): Claim | null;
  verifies(claim: Claim, purpose: Purpose, state: string, nowMs: number): boolean;
  seal(plain: string, context: string, nonce: Uint8Array): string;
  /** Null for text that was not sealed with this key and this context. */
  unseal(sealed: string, context: string): string | null;
  digest(text: string): string;
}

interface Claim {
  readonly userId: UserId;
  readonly untilMs: number;
  readonly mac: Buffer;
}

export const NONCE_BYTES = 12;
const KEY_BYTES = 32;
const TAG_BYTES = 16;
const TICKET = /^([0-9]{1,20})\.([0-9a-z]{1,10})\.([\w-]{43})$/;

const derived = (secret: string, use: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, '', `guildhall accounts: ${use}`, KEY_BYTES));

/** Derives one key per use from the server's secret. */
export function createKeys(secret: string): Keys {
  const linkKey = derived(secret, 'links');
  const sealKey = derived(secret, 'seals');
  const formKey = derived(secret, 'forms');

  function macOf(purpose: Purpose, userId: UserId, untilSec: number, state: string): Buffer {
    const text = JSON.stringify([purpose, userId, untilSec, state]);
    return createHmac('sha256', linkKey).update(text).digest();
  }

  return {
    ticket(purpose, userId, untilMs, state) {
      const untilSec = Math.floor(untilMs / 1000);
      const mac = macOf(purpose, userId, untilSec, state).toString('base64url');
      return `${userId}.${untilSec.toString(36)}.${mac}`;
    },

    claim(ticket) {
      const [, userId = '', until = '', mac = ''] = ticket.length > 80 ? [] : (TICKET.exec(ticket) ?? []);
      if (!isUserId(userId)) return null;
      const untilMs = Number.parseInt(until, 36) * 1000;
      return { userId, untilMs, mac: Buffer.from(mac, 'base64url') };
    },

    verifies({ userId, untilMs, mac }, purpose, state, nowMs) {
      if (untilMs <= nowMs) return false;
      return timingSafeEqual(mac, macOf(purpose, userId, untilMs / 1000, state));
    },

    seal(plain, bound, nonce) {
      const cipher = createCipheriv('aes-256-gcm', sealKey, nonce).setAAD(Buffer.from(bound));
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url');
    },

    unseal(sealed, bound) {
      const bytes = Buffer.from(sealed, 'base64url');
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
      const decipher = createDecipheriv('aes-256-gcm', sealKey, bytes.subarray(0, NONCE_BYTES));
      decipher.setAAD(Buffer.from(bound)).setAuthTag(bytes.subarray(-TAG_BYTES));
      const body = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
      try {
        return Buffer.concat([body, decipher.final()]).toString('utf8');
      } catch {
        // The authentication tag does not match: another key, another context, or foreign text.
        return null;
      }
    },

    digest: (text) => createHmac('sha256', formKey).update(text).digest('base64url'),
  };
}
