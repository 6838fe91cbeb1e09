// Goal: nothing that the server holds for a call, or was ever sent, opens a frame of it.
import { createDecipheriv, createHash, createHmac, KeyObject } from 'node:crypto';
import { expect, test } from 'vitest';
import { snowflakeBytes, vector } from '../../../media/dave/mls.ts';
import { VOICE_OP } from '../../../protocol/voice.ts';
import { DaveyCall, FRAME, user } from './daveycall.ts';
import { exporterSecret, makePackage } from './mlsguest.ts';

/** The wire's literal label of the media keys' base secret. */
const EXPORT_LABEL = Buffer.from('446973636f726420536563757265204672616d6573207630', 'hex').toString();

/** Everything in an object graph that could be or hide a key, as bytes. */
function dump(root: unknown): Uint8Array[] {
  const seen = new Set<unknown>();
  const found: Uint8Array[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === 'string') {
      found.push(Buffer.from(value));
      if (/^(?:[0-9a-f]{2}){16,}$/.test(value)) found.push(Buffer.from(value, 'hex'));
    }
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    if (value instanceof Uint8Array) found.push(value);
    else if (value instanceof KeyObject) visit(keyParts(value));
    else if (value instanceof Map) for (const entry of value) entry.forEach(visit);
    else if (value instanceof Set) value.forEach(visit);
    else for (const key of Reflect.ownKeys(value)) visit(Reflect.get(value, key));
  };
  visit(root);
  return found;
}

const keyParts = (key: KeyObject): Buffer[] =>
  Object.values(key.export({ format: 'jwk' })).flatMap((part) =>
    typeof part === 'string' ? [Buffer.from(part, 'base64url')] : [],
  );

/** @source RFC 9420 §8 */
function expand(secret: Uint8Array, label: string, context: Uint8Array, size: number): Buffer {
  const info = Buffer.concat([
    Uint8Array.of(size >> 8, size & 0xff),
    vector(Buffer.from(`MLS 1.0 ${label}`)),
    vector(context),
    Uint8Array.of(1),
  ]);
  return createHmac('sha256', secret).update(info).digest().subarray(0, size);
}

function opens(frame: Buffer, key: Uint8Array): boolean {
  const size = frame.at(-3) ?? 0;
  const trailer = frame.subarray(frame.length - size);
  const nonce = Buffer.alloc(12);
  nonce[8] = trailer[8] ?? 0;
  const cipher = createDecipheriv('aes-128-gcm', key, nonce, { authTagLength: 8 });
  cipher.setAuthTag(trailer.subarray(0, 8));
  try {
    const opened = Buffer.concat([cipher.update(frame.subarray(0, frame.length - size)), cipher.final()]);
    return opened.equals(FRAME);
  } catch {
    return false;
  }
}

const NOTHING = new Uint8Array(0);
const ratchet = (base: Uint8Array): Buffer => expand(base, 'key', Buffer.alloc(4), 16);

function exported(secret: Uint8Array, senderId: string): Buffer {
  const context = createHash('sha256')
    .update(Buffer.from(snowflakeBytes(senderId)).reverse())
    .digest();
  return expand(expand(secret, EXPORT_LABEL, NOTHING, 32), 'exported', context, 16);
}

/** Tries every part of 16 or 32 bytes as each kind of secret that leads to the media key of this sender. */
function anyOpens(frame: Buffer, senderId: string, held: readonly Uint8Array[]): boolean {
  for (const bytes of held) {
    for (let at = 0; at + 16 <= bytes.length; at++) {
      const short = bytes.subarray(at, at + 16);
      if (opens(frame, short) || opens(frame, ratchet(short))) return true;
      if (at + 32 > bytes.length) continue;
      const long = bytes.subarray(at, at + 32);
      if (opens(frame, ratchet(exported(long, senderId)))) return true;
      if (opens(frame, ratchet(exported(expand(long, 'exporter', NOTHING, 32), senderId)))) return true;
    }
  }
  return false;
}

test('no part of what the server holds or relays opens a frame, but what a member derives does', async () => {
  const call = new DaveyCall(3);
  const speaker = call.join(user(1));
  call.join(user(2));
  call.rest();
  const guest = user(3);
  const made = await makePackage(guest);
  const inbox = call.invite(guest);
  call.say(guest, VOICE_OP.DAVE_MLS_KEY_PACKAGE, made.bytes);
  call.pass(500);
  // A round is under way, and a key package waits: the delivery holds as much as it ever does.
  call.join(user(4));
  call.join(user(5));
  while (call.client(user(5)).up.length === 0) call.step();
  const welcome = inbox.find((message) => message.op === VOICE_OP.DAVE_MLS_WELCOME);
  if (welcome?.kind !== 'binary') throw new Error('not welcomed');
  const secret = await exporterSecret(made, welcome.payload.subarray(2));

  const sealed = speaker.seal(FRAME);
  const { epoch } = speaker.group;
  expect(epoch).toBe(call.delivery.epoch);
  expect(anyOpens(sealed, speaker.userId, [Buffer.concat([Buffer.alloc(7), secret])])).toBe(true);
  expect(anyOpens(sealed, speaker.userId, [exported(secret, speaker.userId)])).toBe(true);
  expect(anyOpens(sealed, speaker.userId, [ratchet(exported(secret, speaker.userId))])).toBe(true);

  const held = dump([call.delivery, call.effects]);
  expect(held.reduce((sum, bytes) => sum + bytes.length, 0)).toBeGreaterThan(5000);
  expect(held.some((bytes) => bytes.length === 32)).toBe(true);
  expect(anyOpens(sealed, speaker.userId, held)).toBe(false);
}, 60_000);
