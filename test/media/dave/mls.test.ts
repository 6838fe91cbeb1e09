// Goal: an MLS message is read only when it meets every condition that members check.
import { decodeKeyPackage, encodeKeyPackage, type KeyPackage } from 'ts-mls/keyPackage.js';
import type { LeafNodeCommit } from 'ts-mls/leafNode.js';
import { describe, expect, it } from 'vitest';
import {
  isOwnLeaf,
  peekCommit,
  readCommit,
  readKeyPackage,
  snowflakeBytes,
} from '../../../media/dave/mls.ts';
import { GROUP_ID, user } from './daveycall.ts';
import { commits, keyPackage } from './messages.ts';

const GROUP = snowflakeBytes(GROUP_ID);
const GUEST = user(77);
const known = commits();
const withWelcome = known[0]!;
const bare = known.find((commit) => readCommit(commit, 50)?.welcome === null)!;

const changed = (bytes: Uint8Array, at: number, value: number): Buffer => {
  const copy = Buffer.from(bytes);
  copy[at] = value;
  return copy;
};

describe('a key package', () => {
  const [good] = decodeKeyPackage(keyPackage(GUEST), 0) as [KeyPackage, number];
  const { leafNode } = good;
  it.each<[string, Partial<KeyPackage>]>([
    [
      'no basic credential',
      { leafNode: { ...leafNode, credential: { credentialType: 'x509', certificates: [] } } },
    ],
    ['one key for two uses', { initKey: leafNode.hpkePublicKey }],
    ['a point off the curve', { initKey: leafNode.hpkePublicKey.slice(0, 64) }],
    ['extensions', { extensions: [{ extensionType: 'application_id', extensionData: Uint8Array.of(1) }] }],
    ['a forged signature', { signature: good.signature.slice(1) }],
  ])('is rejected for %s', (reason, change) => {
    expect(readKeyPackage(encodeKeyPackage({ ...good, ...change }), GUEST)).toBe(reason);
  });

  it('is rejected as too large with 64 KiB of extra bytes', () => {
    expect(readKeyPackage(Buffer.concat([keyPackage(GUEST), Buffer.alloc(64 << 10)]), GUEST)).toBe(
      'too large',
    );
  });
});

describe('a commit', () => {
  it('is read with and without a Welcome', () => {
    expect(readCommit(withWelcome, 50)?.welcome).not.toBeNull();
    expect(readCommit(bare, 50)).toMatchObject({ message: bare, welcome: null });
  });

  it('is rejected in any other wire format', () => {
    for (const format of [0, 2, 3, 4, 5, 6, 255]) {
      expect(peekCommit(changed(bare, 3, format), GROUP)).toBeNull();
      expect(readCommit(changed(bare, 3, format), 50)).toBeNull();
    }
  });

  it('is ignored when its header is truncated, malformed, of another group or not from a member', () => {
    expect(peekCommit(bare, snowflakeBytes('1'))).toBeNull();
    expect(peekCommit(changed(bare, 21, 2), GROUP)).toBeNull();
    expect(peekCommit(changed(bare, 4, 7), GROUP)).toBeNull();
    expect(peekCommit(bare.subarray(0, 25), GROUP)).toBeNull();
  });

  it('is rejected when its Welcome has another ciphersuite, is truncated or has trailing bytes', () => {
    const { message } = readCommit(withWelcome, 50)!;
    expect(readCommit(changed(withWelcome, message.length + 1, 1), 50)).toBeNull();
    expect(readCommit(withWelcome.subarray(0, -1), 50)).toBeNull();
    expect(readCommit(Buffer.concat([withWelcome, Buffer.of(0)]), 50)).toBeNull();
  });
});

describe('the leaf of a committer', () => {
  const { leaf } = readCommit(bare, 50) as { leaf: LeafNodeCommit };
  const { leafIndex } = peekCommit(bare, GROUP)!;
  const { credential } = leaf;
  if (credential.credentialType !== 'basic') throw new Error('no basic credential');
  const userId = String(Buffer.from(credential.identity).readBigUInt64BE());
  const signatureKey = Buffer.from(leaf.signaturePublicKey).toString('hex');
  const place = { groupId: GROUP, leafIndex };

  it('is accepted as the committer made it', () => {
    expect(isOwnLeaf(leaf, userId, signatureKey, place)).toBe(true);
  });

  it('is rejected at another leaf index or in another group', () => {
    expect(isOwnLeaf(leaf, userId, signatureKey, { ...place, leafIndex: leafIndex + 1 })).toBe(false);
    expect(isOwnLeaf(leaf, userId, signatureKey, { ...place, groupId: snowflakeBytes('1') })).toBe(false);
  });

  it('is rejected for another user or another signature key', () => {
    expect(isOwnLeaf(leaf, user(55), signatureKey, place)).toBe(false);
    expect(isOwnLeaf(leaf, userId, `${signatureKey}00`, place)).toBe(false);
  });

  it.each<[string, Partial<LeafNodeCommit>]>([
    ['another kind of credential', { credential: { credentialType: 'x509', certificates: [] } }],
    ['extensions', { extensions: [{ extensionType: 'application_id', extensionData: Uint8Array.of(1) }] }],
    ['a key that is no point', { hpkePublicKey: Uint8Array.of(4) }],
    ['a signature of something else', { signature: leaf.signature.slice(1) }],
  ])('is rejected with %s', (_, change) => {
    expect(isOwnLeaf({ ...leaf, ...change } as LeafNodeCommit, userId, signatureKey, place)).toBe(false);
  });
});
