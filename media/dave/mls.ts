import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { encodeAuthenticatedContent } from 'ts-mls/authenticatedContent.js';
import { encodeExternalSender } from 'ts-mls/externalSender.js';
import { encodeFramedContentTBS } from 'ts-mls/framedContent.js';
import {
  decodeKeyPackage,
  encodeKeyPackage,
  encodeKeyPackageTBS,
  type KeyPackage,
} from 'ts-mls/keyPackage.js';
import { encodeLeafNodeTBS, type LeafNodeCommit } from 'ts-mls/leafNode.js';
import { decodeMlsMessage, encodeMlsMessage } from 'ts-mls/message.js';
import type { Proposal } from 'ts-mls/proposal.js';
import { decodeWelcome, encodeWelcome, type Welcome } from 'ts-mls/welcome.js';
import { hasCommitOutline } from './skim.ts';

/**
 * The parts of MLS that the delivery service reads and writes. ts-mls provides the framing codec; signatures and hashes are
 * computed here, synchronously. Readers take untrusted bytes and never throw; each costs O(bytes) and at most two signatures.
 *
 * @source RFC 9420, ciphersuite 2 (P-256, AES-128-GCM, SHA-256)
 */
const SUITE = 'MLS_128_DHKEMP256_AES128GCM_SHA256_P256';
const POINT_BYTES = 65;
const LIFETIME_MAX = (1n << 64n) - 1n;
const NOTHING = new Uint8Array(0);
const PACKAGE_BYTES_MAX = 2048;
/**
 * Upper bounds of the bytes that one more member adds to a commit (a ciphertext) and its Welcome (secrets, a leaf,
 * parents).
 */
const COMMIT_BYTES = { base: 4096, perMember: 1024 };
/** Bytes of a commit up to the sender's leaf index, with a group id of eight bytes. */
const COMMIT_HEAD_BYTES = 26;
/** DER prefix of a P-256 SubjectPublicKeyInfo, before the point. */
const SPKI_PREFIX = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex');

export const hex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');

const same = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

/** A snowflake as DAVE puts it into MLS: eight bytes, big-endian. */
export function snowflakeBytes(id: string): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(id));
  return bytes;
}

/** MLS variable-size vector. @source RFC 9420 §2.1.2 */
export function vector(bytes: Uint8Array): Buffer {
  const size = bytes.length;
  const head =
    size < 64
      ? [size]
      : size < 16_384
        ? [0x40 | (size >> 8), size & 0xff]
        : [0x80 | (size >> 24), (size >> 16) & 0xff, (size >> 8) & 0xff, size & 0xff];
  return Buffer.concat([Uint8Array.from(head), bytes]);
}

const labelled = (label: string, content: Uint8Array): Buffer =>
  Buffer.concat([vector(Buffer.from(`MLS 1.0 ${label}`)), vector(content)]);

/** @source RFC 9420 §5.2 */
const refHash = (label: string, value: Uint8Array): Uint8Array =>
  createHash('sha256').update(labelled(label, value)).digest();

/** The public key of a P-256 point, or null when the point is not on the curve. */
function publicKey(point: Uint8Array): KeyObject | null {
  if (point.length !== POINT_BYTES || point[0] !== 4) return null;
  try {
    return createPublicKey({ key: Buffer.concat([SPKI_PREFIX, point]), format: 'der', type: 'spki' });
  } catch {
    return null;
  }
}

/** @source RFC 9420 §5.1.2 */
function verifies(point: Uint8Array, label: string, content: Uint8Array, signature: Uint8Array): boolean {
  const key = publicKey(point);
  try {
    return key !== null && verify('sha256', labelled(label, content), key, signature);
  } catch {
    return false;
  }
}

/** The result of `read`, or null when the codec throws on the bytes. */
function attempt<T>(read: () => T | null | undefined): T | null {
  try {
    return read() ?? null;
  } catch {
    return null;
  }
}

/** A key package that passed all checks and may be proposed. */
export interface CheckedPackage {
  /** KeyPackageRef in hex; a Welcome names its receivers by it. */
  readonly ref: string;
  readonly content: KeyPackage;
  /** In hex; none of these may occur twice in a group. */
  readonly signatureKey: string;
  readonly encryptionKey: string;
  readonly initKey: string;
}

/**
 * Reads the payload of op 26, bare (as clients send it) or as an MLSMessage (as the protocol document describes it), and
 * makes all checks that members make before they add it: one that members reject would stop the whole group's next epoch.
 *
 * @returns the package, or the reason for the refusal.
 */
export function readKeyPackage(payload: Uint8Array, userId: string): CheckedPackage | string {
  if (payload.length > PACKAGE_BYTES_MAX) return 'too large';
  const isWrapped = payload[2] === 0 && payload[3] === 5;
  const bytes = isWrapped ? payload.subarray(4) : payload;
  if (payload[0] !== 0 || payload[1] !== 1) return 'not MLS 1.0';
  const content = attempt(() => {
    const [decoded, size] = decodeKeyPackage(bytes, 0) ?? [null, 0];
    // Members hash their own encoding of it, so anything but the canonical form would give them other references.
    return decoded !== null && size === bytes.length && same(encodeKeyPackage(decoded), bytes)
      ? decoded
      : null;
  });
  if (content === null) return 'no key package';
  const wrong = packageProblem(content, userId);
  if (wrong !== null) return wrong;
  return {
    ref: hex(refHash('KeyPackage Reference', bytes)),
    content,
    signatureKey: hex(content.leafNode.signaturePublicKey),
    encryptionKey: hex(content.leafNode.hpkePublicKey),
    initKey: hex(content.initKey),
  };
}

function packageProblem(content: KeyPackage, userId: string): string | null {
  const { leafNode: leaf } = content;
  const { capabilities, credential, lifetime } = leaf;
  if (content.version !== 'mls10' || content.cipherSuite !== SUITE) return 'another ciphersuite';
  if (credential.credentialType !== 'basic') return 'no basic credential';
  if (!same(credential.identity, snowflakeBytes(userId))) return 'the credential of another user';
  if (lifetime.notBefore !== 0n || lifetime.notAfter !== LIFETIME_MAX) return 'a bounded lifetime';
  if (content.extensions.length > 0 || leaf.extensions.length > 0) return 'extensions';
  const isCapable =
    capabilities.versions.includes('mls10') &&
    capabilities.ciphersuites.includes(SUITE) &&
    capabilities.credentials.includes('basic');
  if (!isCapable) return 'too few capabilities';
  if (publicKey(content.initKey) === null || publicKey(leaf.hpkePublicKey) === null)
    return 'a point off the curve';
  if (same(content.initKey, leaf.hpkePublicKey)) return 'one key for two uses';
  const { signaturePublicKey: key } = leaf;
  if (!verifies(key, 'LeafNodeTBS', encodeLeafNodeTBS(leaf), leaf.signature)) return 'a forged leaf';
  return verifies(key, 'KeyPackageTBS', encodeKeyPackageTBS(content), content.signature)
    ? null
    : 'a forged signature';
}

/**
 * Reads the epoch and the sender's leaf of a commit from its first bytes alone. In a group of fifty members, forty-nine
 * commits of each epoch are too late and must cost next to nothing.
 *
 * @returns null when it is not a PublicMessage of a member of this group.
 */
export function peekCommit(
  payload: Uint8Array,
  groupId: Uint8Array,
): { readonly epoch: bigint; readonly leafIndex: number } | null {
  // u16 version 1, u16 wire format 1 (public), opaque group_id<V>, u64 epoch, u8 sender type 1 (member), u32 leaf index
  if (payload.length < COMMIT_HEAD_BYTES) return null;
  const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
  if (view.getUint32(0) !== 0x0001_0001 || view.getUint8(4) !== 8 || view.getUint8(21) !== 1) return null;
  if (!same(payload.subarray(5, 13), groupId)) return null;
  return { epoch: view.getBigUint64(13), leafIndex: view.getUint32(22) };
}

export interface ReadCommit {
  /** The MLSMessage of the commit, as received. */
  readonly message: Uint8Array;
  /** ProposalRefs in hex, in the order in which members apply them. */
  readonly refs: readonly string[];
  /** The committer's new leaf; null without an update path. */
  readonly leaf: LeafNodeCommit | null;
  readonly welcome: Welcome | null;
}

/**
 * Reads the payload of op 28: an MLSMessage with a commit that takes all its proposals by reference, optionally followed by
 * a Welcome.
 *
 * @param members Size of the group including the members being added; bounds the size of the payload.
 */
export function readCommit(payload: Uint8Array, members: number): ReadCommit | null {
  if (payload.length > COMMIT_BYTES.base + COMMIT_BYTES.perMember * members) return null;
  if (!hasCommitOutline(payload, COMMIT_HEAD_BYTES)) return null;
  return attempt(() => {
    const [message, size] = decodeMlsMessage(payload, 0) ?? [null, 0];
    if (message?.wireformat !== 'mls_public_message') return null;
    const { content } = message.publicMessage;
    if (content.contentType !== 'commit') return null;
    const refs: string[] = [];
    for (const proposal of content.commit.proposals) {
      if (proposal.proposalOrRefType !== 'reference') return null;
      refs.push(hex(proposal.reference));
    }
    const welcome = size === payload.length ? null : readWelcome(payload.subarray(size));
    if (welcome === null && size !== payload.length) return null;
    return { message: payload.subarray(0, size), refs, leaf: content.commit.path?.leafNode ?? null, welcome };
  });
}

function readWelcome(bytes: Uint8Array): Welcome | null {
  const [welcome, size] = decodeWelcome(bytes, 0) ?? [null, 0];
  return welcome?.cipherSuite === SUITE && size === bytes.length ? welcome : null;
}

/** Receivers of a Welcome, as KeyPackageRefs in hex. */
export const welcomed = (welcome: Welcome): string[] =>
  welcome.secrets.map((secret) => hex(secret.newMember));

/** The Welcome with only the secrets of `ref`. */
export const trimWelcome = (welcome: Welcome, ref: string): Uint8Array =>
  encodeWelcome({ ...welcome, secrets: welcome.secrets.filter((secret) => hex(secret.newMember) === ref) });

/** Whether the leaf of an update path still belongs to the same member, and is signed for this place in this group. */
export function isOwnLeaf(
  leaf: LeafNodeCommit,
  userId: string,
  signatureKey: string,
  place: { readonly groupId: Uint8Array; readonly leafIndex: number },
): boolean {
  if (leaf.credential.credentialType !== 'basic' || leaf.extensions.length > 0) return false;
  if (!same(leaf.credential.identity, snowflakeBytes(userId))) return false;
  if (hex(leaf.signaturePublicKey) !== signatureKey || publicKey(leaf.hpkePublicKey) === null) return false;
  const signed = attempt(() => encodeLeafNodeTBS({ ...leaf, ...place }));
  return signed !== null && verifies(leaf.signaturePublicKey, 'LeafNodeTBS', signed, leaf.signature);
}

export interface Proposed {
  /** ProposalRef; `ref` is the same value in hex. */
  readonly reference: Uint8Array;
  readonly ref: string;
  /** An MLSMessage. */
  readonly message: Uint8Array;
}

/** The MLS external sender: it signs proposals from outside the group and cannot decrypt anything. */
export interface ExternalSender {
  readonly signingKey: KeyObject;
  /** Payload of op 25. */
  readonly announcement: Uint8Array;
  propose(groupId: Uint8Array, epoch: bigint, proposal: Proposal): Proposed;
}

export function openExternalSender(randomBytes: (size: number) => Uint8Array): ExternalSender {
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(randomBytes(32));
  const point = pair.getPublicKey();
  const key = createPrivateKey({
    format: 'jwk',
    key: {
      kty: 'EC',
      crv: 'P-256',
      d: pair.getPrivateKey().toString('base64url'),
      x: point.subarray(1, 33).toString('base64url'),
      y: point.subarray(33).toString('base64url'),
    },
  });
  const credential = { credentialType: 'basic', identity: Buffer.from('voice gateway') } as const;
  return {
    signingKey: key,
    announcement: encodeExternalSender({ signaturePublicKey: point, credential }),
    propose: (groupId, epoch, proposal) => {
      const content = {
        groupId,
        epoch,
        sender: { senderType: 'external', senderIndex: 0 },
        authenticatedData: NOTHING,
        contentType: 'proposal',
        proposal,
      } as const;
      const wireformat = 'mls_public_message' as const;
      // A sender outside the group does not sign the context (RFC 9420 §6.1), although the type requires it.
      const signed = { protocolVersion: 'mls10', wireformat, content, senderType: 'external' } as const;
      const tbs = encodeFramedContentTBS(signed);
      const auth = {
        contentType: 'proposal',
        signature: sign('sha256', labelled('FramedContentTBS', tbs), key),
      } as const;
      const reference = refHash(
        'Proposal Reference',
        encodeAuthenticatedContent({ wireformat, content, auth }),
      );
      const publicMessage = { content, auth, senderType: 'external' } as const;
      return {
        reference,
        ref: hex(reference),
        message: encodeMlsMessage({ version: 'mls10', wireformat, publicMessage }),
      };
    },
  };
}
