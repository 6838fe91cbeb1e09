import { ANY, boolean, choice, DAY_MS, integer, MINUTE_MS, optional, PORT, string } from './kinds.ts';

/** Settings of calls. */
export const VOICE = {
  voice: boolean(true, 'Whether calls are served: the voice gateway, its UDP port and WebRTC.'),
  voice_host: string('127.0.0.1', 'Address that the voice gateway (TCP) and media (UDP) listen on.'),
  voice_port: integer(
    3002,
    'port',
    PORT,
    'TCP port of the voice gateway; 0 picks a free port. The main port serves the same routes under /voice.',
  ),
  voice_udp_port: integer(
    3002,
    'port',
    PORT,
    'UDP port of all calls; 0 picks a free port. Each media worker after the first takes the next port.',
  ),
  voice_webrtc_port: integer(3022, 'port', PORT, 'UDP port of browsers; 0 picks a free port.'),
  voice_webrtc_address: optional(
    'an IP address, or auto',
    '^(auto|[0-9a-fA-F.:]+)$',
    'Address of the UDP port for browsers, if it differs from voice_host; auto is the address ' +
      'of this machine in its network. Firefox sends no calls to 127.0.0.1, so a server on loopback needs it for Firefox.',
  ),
  voice_workers: integer(1, 'threads', [0, 64], 'Threads that forward media; 0 forwards on the main thread.'),
  voice_native: boolean(
    true,
    'Whether voice packets are sent and received in batches by the native addon, where it is built; otherwise by node:dgram.',
  ),
  external_address: optional(
    'an IP address',
    '^[0-9a-fA-F.:]+$',
    'The address at which clients reach the UDP ports. When null, voice_host. It must be set behind NAT.',
  ),
  voice_endpoint: optional(
    'a host, with a port and a path where needed, such as voice.example.org:443',
    '^[^\\s/?#]+(/[^\\s?#]*)?$',
    'How clients reach the voice gateway over TLS. When null it is derived from where the gateway listens.',
  ),
  voice_tls: choice(
    'auto',
    ['auto', 'off'],
    'With auto, TLS with the configured certificate, or else with a development certificate; with off, no TLS, for use behind a TLS proxy.',
  ),
  tls_cert_file: optional('a file', ANY, 'Certificate chain of the voice gateway, PEM.'),
  tls_key_file: optional('a file', ANY, 'Private key of the voice gateway, PEM.'),
  e2ee_required: boolean(
    true,
    'Whether a client without DAVE end-to-end encryption is refused (4017). When off, a call falls back while one is in it.',
  ),
  voice_heartbeat_interval_ms: integer(
    13_750,
    'ms',
    [1000, 10 * MINUTE_MS],
    'Heartbeat interval sent to voice clients.',
  ),
  voice_resume_window_ms: integer(
    60_000,
    'ms',
    [0, DAY_MS],
    'How long a voice session without a connection stays in its call.',
  ),
  calls_max: integer(
    50_000,
    'calls',
    [1, 10_000_000],
    'Most calls at one time; joins that would start another call are refused.',
  ),
  call_members_max: integer(
    1000,
    'members',
    [1, 100_000],
    'Members of one call, whatever the channel allows.',
  ),
};

/** The settings that determine the addresses of calls for clients. */
interface VoiceAddressSettings {
  readonly voice_host: string;
  readonly voice_endpoint: string | null;
  readonly external_address: string | null;
  readonly public_url: string | null;
}

/** Wildcard addresses: a server listens on them, but no client can connect to them. */
const UNSPECIFIED: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Host of the voice gateway as announced to clients, without a port. */
export function voiceGatewayHost(settings: VoiceAddressSettings): string {
  const { voice_endpoint: endpoint } = settings;
  return endpoint === null ? voiceHost(settings) : unbracketed(new URL(`wss://${endpoint}`).hostname);
}

/** Host at which clients reach `voice_host`. */
export function voiceHost(settings: VoiceAddressSettings): string {
  const { voice_host: host, external_address: external, public_url: url } = settings;
  if (!UNSPECIFIED.has(host)) return host;
  return external ?? (url === null ? 'localhost' : unbracketed(new URL(url).hostname));
}

/** Host announced to clients for media of a socket that listens on `host`. */
export const mediaHost = (settings: VoiceAddressSettings, host: string): string =>
  settings.external_address ?? (UNSPECIFIED.has(host) ? voiceHost(settings) : host);

const unbracketed = (host: string): string => host.replace(/^\[|\]$/g, '');
