import { createHash, createPrivateKey, randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import type { Certificate, GeneralName } from 'pkijs';

/** Key and certificate, both in PEM. */
export interface Pair {
  readonly key: string;
  readonly cert: string;
}

interface CertificateRequest {
  readonly commonName: string;
  readonly fromMs: number;
  readonly untilMs: number;
  /** The host names and addresses of a server; null for an authority that signs the certificates of servers. */
  readonly names: readonly string[] | null;
  /** The authority that signs; null for a certificate that signs itself. */
  readonly authority: Pair | null;
}

const EC = { name: 'ECDSA', namedCurve: 'P-256' } as const;

/** The purposes and fields of a certificate. @source RFC 5280, sections 4.2.1 and A */
const OID = {
  commonName: '2.5.4.3',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  subjectKey: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKey: '2.5.29.35',
  extKeyUsage: '2.5.29.37',
} as const;
/** Bits from the first: digitalSignature is 0, keyCertSign 5 and cRLSign 6. */
const [SIGNS_DATA, SIGNS_CERTIFICATES] = [0x80, 0x06] as const;
const [DNS_NAME, IP_ADDRESS] = [2, 7] as const;

/** Makes a key of P-256 and a certificate for it. */
export async function issueCertificate({
  commonName,
  fromMs,
  untilMs,
  names,
  authority,
}: CertificateRequest): Promise<Pair> {
  // Imported late: the modules are large, and most starts issue no certificate.
  const { Certificate, AttributeTypeAndValue, RelativeDistinguishedNames } = await import('pkijs');
  const { Integer, Utf8String } = await import('asn1js');
  const { publicKey, privateKey } = await webcrypto.subtle.generateKey(EC, true, ['sign', 'verify']);
  const certificate = new Certificate();
  certificate.version = 2;
  // Positive, and of 16 bytes without a leading zero.
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  certificate.serialNumber = new Integer({ valueHex: bufferOf(serial) });
  certificate.notBefore.value = new Date(fromMs);
  certificate.notAfter.value = new Date(untilMs);
  certificate.subject = new RelativeDistinguishedNames({
    typesAndValues: [
      new AttributeTypeAndValue({ type: OID.commonName, value: new Utf8String({ value: commonName }) }),
    ],
  });
  await certificate.subjectPublicKeyInfo.importKey(publicKey);
  const issuer = authority && Certificate.fromBER(derOf(authority.cert));
  certificate.issuer = (issuer ?? certificate).subject;
  certificate.extensions = await extensionsOf(certificate, issuer ?? certificate, names);
  await certificate.sign(authority ? await signingKey(authority.key) : privateKey, 'SHA-256');
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', privateKey));
  return {
    key: pemOf('PRIVATE KEY', key),
    cert: pemOf('CERTIFICATE', Buffer.from(certificate.toSchema().toBER())),
  };
}

async function extensionsOf(certificate: Certificate, issuer: Certificate, names: readonly string[] | null) {
  const { AltName, AuthorityKeyIdentifier, BasicConstraints, ExtKeyUsage, Extension } = await import('pkijs');
  const { BitString, OctetString } = await import('asn1js');
  const extension = (extnID: string, critical: boolean, value: { toBER: () => ArrayBuffer }) =>
    new Extension({ extnID, critical, extnValue: value.toBER() });
  const keyId = (of: Certificate) => new OctetString({ valueHex: bufferOf(keyIdOf(of)) });
  const usage = names ? SIGNS_DATA : SIGNS_CERTIFICATES;
  const constraints = new BasicConstraints(names ? {} : { cA: true, pathLenConstraint: 0 });
  const all = [
    extension(OID.basicConstraints, true, constraints.toSchema()),
    extension(OID.keyUsage, true, new BitString({ valueHex: bufferOf(Buffer.of(usage)) })),
    extension(OID.subjectKey, false, keyId(certificate)),
    extension(
      OID.authorityKey,
      false,
      new AuthorityKeyIdentifier({ keyIdentifier: keyId(issuer) }).toSchema(),
    ),
  ];
  if (!names) return all;
  const altNames = await Promise.all(names.map(generalName));
  return [
    ...all,
    extension(OID.extKeyUsage, false, new ExtKeyUsage({ keyPurposes: [OID.serverAuth] }).toSchema()),
    extension(OID.subjectAltName, false, new AltName({ altNames }).toSchema()),
  ];
}

async function generalName(name: string): Promise<GeneralName> {
  const { GeneralName } = await import('pkijs');
  if (isIP(name) === 0) return new GeneralName({ type: DNS_NAME, value: name });
  const { OctetString } = await import('asn1js');
  return new GeneralName({
    type: IP_ADDRESS,
    value: new OctetString({ valueHex: bufferOf(addressBytes(name)) }),
  });
}

/** The bytes of an address: 4, or 16 of IPv6 without its zone. */
function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [plain] = address.split('%');
  // A URL writes every address in one form: groups of hexadecimal digits, the longest run of zeros as `::`.
  const groupsOf = (part = '') => part.split(':').filter((group) => group !== '');
  const [head = [], tail = []] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::').map(groupsOf);
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill('0');
  return Buffer.from([...head, ...zeros, ...tail].map((group) => group.padStart(4, '0')).join(''), 'hex');
}

const keyIdOf = (certificate: Certificate): Buffer =>
  createHash('sha1')
    .update(certificate.subjectPublicKeyInfo.subjectPublicKey.valueBlock.valueHexView)
    .digest();

const signingKey = (pem: string) => {
  const der = createPrivateKey(pem).export({ format: 'der', type: 'pkcs8' });
  return webcrypto.subtle.importKey('pkcs8', der, EC, false, ['sign']);
};

const derOf = (pem: string): ArrayBuffer =>
  bufferOf(Buffer.from(pem.replaceAll(/-----[^-]+-----/g, ''), 'base64'));

const bufferOf = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;

const pemOf = (label: string, der: Buffer): string =>
  `-----BEGIN ${label}-----\n${der.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n')}\n-----END ${label}-----\n`;
