import { createHash, createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import { link, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { makeDirectory } from '../../directories.ts';
import { codeOf } from '../../protocol/thrown.ts';
import { issueCertificate, type Pair } from './certificate.ts';

interface VoiceTls {
  /** Files for opening the port with TLS; null for a port without TLS. */
  readonly tls: { readonly keyFile: string; readonly certFile: string } | null;
  /** Certificate of the development authority while it is used; else null. */
  readonly caFile: string | null;
}

export type VoiceTlsSettings = Pick<Config, 'voice_tls' | 'tls_cert_file' | 'tls_key_file' | 'data_dir'>;

const DAY_MS = 86_400_000;
const AUTHORITY_DAYS = 3650;
const LEAF_DAYS = 365;
/** Certificates with fewer days left are renewed at start: a server may then run for a long time. */
const RENEWED_DAYS = 30;
/** Days by which certificates are backdated, for clients whose clocks are slow. */
const BACKDATED_DAYS = 1;
const LOCAL_NAMES = ['localhost', '127.0.0.1', '::1'];
/** Addresses to listen on that no client connects to. */
const UNSPECIFIED = new Set(['', '0.0.0.0', '::']);

/**
 * The certificate of the voice gateway: either the one named in the settings, or a development one. That one is created at the
 * first start and kept in `<data_dir>/tls`, or without a data folder in the user's cache, so that clients need to trust its
 * authority only once. Its key stays in a file that only this user can read.
 *
 * @param names Addresses or host names that clients connect to, besides localhost.
 * @param nowMs Unix milliseconds of the real clock, by which clients check the certificate.
 * @throws Error when a named file cannot be used, or a development one cannot be written; it quotes no file.
 */
export async function voiceTls(
  settings: VoiceTlsSettings,
  names: readonly string[],
  nowMs: number = Date.now(),
): Promise<VoiceTls> {
  const { voice_tls, tls_cert_file: certFile, tls_key_file: keyFile, data_dir } = settings;
  if (voice_tls === 'off') return { tls: null, caFile: null };
  if (certFile !== null && keyFile !== null) {
    await checkGiven(certFile, keyFile);
    return { tls: { keyFile, certFile }, caFile: null };
  }
  if (certFile !== null || keyFile !== null)
    throw new Error('Set both tls_cert_file and tls_key_file, or neither: only one of them is set.');
  const folder = data_dir === null ? await cacheFolder() : await ownFolder(join(data_dir, 'tls'));
  const authority = await openAuthority(folder, nowMs);
  const caFile = join(folder, 'ca.pem');
  if ((await textOf(caFile)) !== authority.cert) await replace(caFile, authority.cert, 0o644);
  const leaf = await openLeaf(folder, authority, names, nowMs);
  return { tls: { keyFile: leaf, certFile: leaf }, caFile };
}

async function checkGiven(certFile: string, keyFile: string): Promise<void> {
  const read = async (setting: string, path: string) => {
    const text = await textOf(path);
    if (text === null) throw new Error(`${setting}: ${path} cannot be read.`);
    return text;
  };
  const [cert, key] = [await read('tls_cert_file', certFile), await read('tls_key_file', keyFile)];
  if (certificateOf(cert) === null)
    throw new Error(`tls_cert_file: ${certFile} contains no PEM certificate.`);
  if (!belongs({ key, cert }))
    throw new Error(
      `tls_key_file: ${keyFile} is not the private key of ${certFile}, unencrypted and in PEM; the server's own ` +
        'certificate must be the first of the chain.',
    );
}

async function ownFolder(folder: string): Promise<string> {
  await makeDirectory(folder, 0o700);
  return folder;
}

/** The user's cache folder; a temporary folder if it cannot be written, as in a container. */
async function cacheFolder(): Promise<string> {
  try {
    const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
    return await ownFolder(join(cache, 'guildhall', 'tls'));
  } catch {
    return await mkdtemp(join(tmpdir(), 'guildhall-tls-'));
  }
}

async function openAuthority(folder: string, nowMs: number): Promise<Pair> {
  // A unique name: a client that trusts an older authority of the same name would confuse the two.
  const name = () => `Guildhall development CA ${randomBytes(4).toString('hex')}`;
  return keptPair(
    join(folder, 'authority.key.pem'),
    (pair) => isCurrent(pair, nowMs),
    () =>
      issueCertificate({
        commonName: name(),
        ...validFor(AUTHORITY_DAYS, nowMs),
        names: null,
        authority: null,
      }),
  );
}

/**
 * The key pair in a file, created if the file has none that fits. Key and certificate share one file, and the first file
 * written wins, so that servers that start at the same time use the same pair.
 */
async function keptPair(
  path: string,
  fits: (pair: Pair) => boolean,
  make: () => Promise<Pair>,
): Promise<Pair> {
  const before = await textOf(path);
  const kept = pairOf(before);
  if (kept && fits(kept)) return kept;
  const made = await make();
  if (before === null) await putFirst(path, made);
  else if ((await textOf(path)) === before) await replace(path, textOfPair(made), 0o600);
  const settled = pairOf(await textOf(path));
  if (!settled || !fits(settled))
    throw new Error(`${path} does not contain the key pair that was written to it.`);
  return settled;
}

/** @returns the file with certificate and key for these names. */
async function openLeaf(
  folder: string,
  authority: Pair,
  names: readonly string[],
  nowMs: number,
): Promise<string> {
  const given = names.map((name) => name.toLowerCase()).filter((name) => !UNSPECIFIED.has(name));
  const all = [...new Set([...LOCAL_NAMES, ...given])].sort();
  // Servers with other names that share the cache use other files.
  const digest = createHash('sha256').update(all.join(' ')).digest('hex').slice(0, 12);
  const path = join(folder, `server-${digest}.pem`);
  const fits = (pair: Pair) => isCurrent(pair, nowMs) && isIssuedBy(pair, authority);
  await keptPair(path, fits, () => {
    const commonName = 'Guildhall development server';
    return issueCertificate({ commonName, ...validFor(LEAF_DAYS, nowMs), names: all, authority });
  });
  return path;
}

const validFor = (days: number, nowMs: number) => ({
  fromMs: nowMs - BACKDATED_DAYS * DAY_MS,
  untilMs: nowMs + days * DAY_MS,
});

const textOfPair = ({ key, cert }: Pair): string => key + cert;

/** The key pair in a PEM text, or null if it has none. */
function pairOf(text: string | null): Pair | null {
  const block = (label: string) =>
    new RegExp(`-----BEGIN ${label}-----[^-]+-----END ${label}-----`).exec(text ?? '')?.[0];
  const [key, cert] = [block('PRIVATE KEY'), block('CERTIFICATE')];
  if (!key || !cert) return null;
  const pair = { key: `${key}\n`, cert: `${cert}\n` };
  return belongs(pair) ? pair : null;
}

function certificateOf(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

function belongs({ key, cert }: Pair): boolean {
  try {
    return certificateOf(cert)?.checkPrivateKey(createPrivateKey(key)) ?? false;
  } catch {
    return false;
  }
}

function isCurrent({ cert }: Pair, nowMs: number): boolean {
  const { validFrom, validTo } = new X509Certificate(cert);
  return Date.parse(validFrom) <= nowMs && Date.parse(validTo) > nowMs + RENEWED_DAYS * DAY_MS;
}

function isIssuedBy({ cert }: Pair, authority: Pair): boolean {
  const [own, issuer] = [new X509Certificate(cert), new X509Certificate(authority.cert)];
  return own.checkIssued(issuer) && own.verify(issuer.publicKey);
}

/** The content of a file, or null if it cannot be read. */
async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return null;
  }
}

async function draft(path: string, text: string, mode: number): Promise<string> {
  const name = join(dirname(path), `.${basename(path)}.${process.pid}.${randomBytes(6).toString('hex')}`);
  await writeFile(name, text, { mode, flag: 'wx' });
  return name;
}

/** Replaces a file atomically: a reader sees the old content or the new one. */
async function replace(path: string, text: string, mode: number): Promise<void> {
  await rename(await draft(path, text, mode), path);
}

/** Writes the file unless another process has already written it. */
async function putFirst(path: string, pair: Pair): Promise<void> {
  const made = await draft(path, textOfPair(pair), 0o600);
  try {
    await link(made, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(made, { force: true });
  }
}
