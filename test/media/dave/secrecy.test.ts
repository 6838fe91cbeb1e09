// Goal: nothing that the server holds or relays for a call decrypts a frame of the call.
import { KeyObject } from 'node:crypto';
import { expect, test } from 'vitest';
import { VOICE_OP } from '../../../protocol/voice.ts';
import { exported, exporterOf, opened, ratchet } from '../../support/voice-secrets.ts';
import { DaveyCall, FRAME, user } from './daveycall.ts';
import { exporterSecret, makePackage } from './mlsguest.ts';

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

const opens = (frame: Buffer, key: Uint8Array): boolean => opened(frame, key)?.equals(FRAME) ?? false;

/** Tries every part of 16 or 32 bytes as each kind of secret that leads to the media key of this sender. */
function anyOpens(frame: Buffer, senderId: string, held: readonly Uint8Array[]): boolean {
  for (const bytes of held) {
    for (let at = 0; at + 16 <= bytes.length; at++) {
      const short = bytes.subarray(at, at + 16);
      if (opens(frame, short) || opens(frame, ratchet(short))) return true;
      if (at + 32 > bytes.length) continue;
      const long = bytes.subarray(at, at + 32);
      if (opens(frame, ratchet(exported(long, senderId)))) return true;
      if (opens(frame, ratchet(exported(exporterOf(long), senderId)))) return true;
    }
  }
  return false;
}

test('no bytes that the server holds or relays decrypt a frame, but the exporter secret of a member does', async () => {
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
