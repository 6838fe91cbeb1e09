import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  verify,
} from 'node:crypto';
import {
  type CiphersuiteImpl,
  type ClientState,
  emptyPskIndex,
  getCiphersuiteFromName,
  joinGroup,
} from 'ts-mls';
import { makeHashImpl } from 'ts-mls/crypto/implementation/default/makeHashImpl.js';
import { makeHpke } from 'ts-mls/crypto/implementation/default/makeHpke.js';
import { makeKdf, makeKdfImpl } from 'ts-mls/crypto/implementation/default/makeKdfImpl.js';
import { defaultRng } from 'ts-mls/crypto/implementation/default/rng.js';
import type { Signature } from 'ts-mls/crypto/signature.js';
import {
  encodeKeyPackage,
  generateKeyPackageWithKey,
  type KeyPackage,
  type PrivateKeyPackage,
} from 'ts-mls/keyPackage.js';
import { decodeWelcome } from 'ts-mls/welcome.js';
import { snowflakeBytes } from '../../../media/dave/mls.ts';

const SUITE = 'MLS_128_DHKEMP256_AES128GCM_SHA256_P256';
const OTHER_SUITE = 'MLS_128_DHKEMX25519_AES128GCM_SHA256_Ed25519';
const SPKI_HEAD_BYTES = 26;
const pkcs8 = (der: Uint8Array) => createPrivateKey({ key: Buffer.from(der), format: 'der', type: 'pkcs8' });

const p256: Signature = {
  keygen: async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return {
      publicKey: publicKey.export({ format: 'der', type: 'spki' }).subarray(SPKI_HEAD_BYTES),
      signKey: privateKey.export({ format: 'der', type: 'pkcs8' }),
    };
  },
  sign: async (key, message) => sign('sha256', message, pkcs8(key)),
  verify: async (point, message, signature) => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const head = publicKey.export({ format: 'der', type: 'spki' }).subarray(0, SPKI_HEAD_BYTES);
    const key = createPublicKey({ key: Buffer.concat([head, point]), format: 'der', type: 'spki' });
    return verify('sha256', message, key, signature);
  },
};

async function openSuite(): Promise<CiphersuiteImpl> {
  const { hash, hpke, name } = getCiphersuiteFromName(SUITE);
  return {
    name,
    signature: p256,
    rng: defaultRng,
    hash: makeHashImpl(crypto.subtle, hash),
    kdf: makeKdfImpl(makeKdf(hpke.kdf)),
    hpke: await makeHpke(hpke),
  };
}

/** The ways in which a key package may differ from a valid one. */
export interface Flaw {
  readonly identity?: Uint8Array;
  readonly notAfter?: bigint;
  readonly notBefore?: bigint;
  readonly otherSuite?: boolean;
  readonly extensions?: boolean;
  readonly leafExtensions?: boolean;
  readonly capable?: boolean;
  /** Signs with the key of another user. */
  readonly keysOf?: MadePackage;
}

interface MadePackage {
  readonly bytes: Uint8Array;
  readonly content: KeyPackage;
  readonly secrets: PrivateKeyPackage;
  readonly suite: CiphersuiteImpl;
}

/** A key package of another implementation than the one that the clients use. */
export async function makePackage(userId: string, flaw: Flaw = {}): Promise<MadePackage> {
  const suite = await openSuite();
  const name = flaw.otherSuite === true ? OTHER_SUITE : SUITE;
  const extension = { extensionType: 'application_id', extensionData: randomBytes(4) } as const;
  const signatureKeys =
    flaw.keysOf === undefined
      ? await p256.keygen()
      : {
          publicKey: flaw.keysOf.content.leafNode.signaturePublicKey,
          signKey: flaw.keysOf.secrets.signaturePrivateKey,
        };
  const { publicPackage, privatePackage } = await generateKeyPackageWithKey(
    { credentialType: 'basic', identity: flaw.identity ?? snowflakeBytes(userId) },
    {
      versions: ['mls10'],
      ciphersuites: [flaw.capable === false ? OTHER_SUITE : SUITE],
      extensions: [],
      proposals: [],
      credentials: ['basic'],
    },
    { notBefore: flaw.notBefore ?? 0n, notAfter: flaw.notAfter ?? (1n << 64n) - 1n },
    flaw.extensions === true ? [extension] : [],
    signatureKeys,
    { ...suite, name },
    flaw.leafExtensions === true ? [extension] : [],
  );
  return { bytes: encodeKeyPackage(publicPackage), content: publicPackage, secrets: privatePackage, suite };
}

/** The state of a member after the Welcome of op 30: the group, with every secret of its epoch. */
export async function welcomed(made: MadePackage, welcome: Uint8Array): Promise<ClientState> {
  const decoded = decodeWelcome(welcome, 0);
  if (decoded === undefined) throw new Error('no Welcome');
  return joinGroup(decoded[0], made.content, made.secrets, emptyPskIndex, made.suite);
}

/** The secret that a member exports its media keys from. */
export const exporterSecret = async (made: MadePackage, welcome: Uint8Array): Promise<Uint8Array> =>
  (await welcomed(made, welcome)).keySchedule.exporterSecret;
