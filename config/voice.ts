import { ANY, choice, DAY_MS, MINUTE_MS, onOff, optional, PORT, text, whole } from './kinds.ts';

/** Settings of calls. */
export const VOICE = {
  voice: onOff(true, 'Whether calls are served: the voice gateway, its UDP port and WebRTC.'),
  voice_host: text('127.0.0.1', 'Address that the voice gateway (TCP) and media (UDP) listen on.'),
  voice_port: whole(
    3002,
    'port',
    PORT,
    'TCP port of the voice gateway; 0 picks a free one. The same routes are on the main port too, under /voice.',
  ),
  voice_udp_port: whole(
    3002,
    'port',
    PORT,
    'UDP port of all calls; 0 picks a free one. Each media worker after the first takes the next port.',
  ),
  voice_webrtc_port: whole(3022, 'port', PORT, 'UDP port of browsers; 0 picks a free one.'),
  voice_webrtc_address: optional(
    'an IP address, or auto',
    '^(auto|[0-9a-fA-F.:]+)$',
    'Address that the UDP port of browsers listens on and is reached at, where that is not voice_host; auto is the address ' +
      'of this machine in its network. Firefox sends no calls to 127.0.0.1, so a server on loopback needs it for Firefox.',
  ),
  voice_workers: whole(1, 'threads', [0, 64], 'Threads that forward media; 0 forwards on the main thread.'),
  external_address: optional(
    'an IP address',
    '^[0-9a-fA-F.:]+$',
    'The address clients reach the UDP ports at. When null, voice_host. Behind NAT it must be set.',
  ),
  voice_endpoint: optional(
    'a host, with a port and a path where needed, such as voice.example.org:443',
    '^[^\\s/?#]+(/[^\\s?#]*)?$',
    'How clients reach the voice gateway over TLS. When null it is derived from where the gateway listens.',
  ),
  voice_tls: choice(
    'auto',
    ['auto', 'off'],
    'With auto, TLS with the given certificate, or a development one when there is none; with off, plain for a TLS proxy in front.',
  ),
  tls_cert_file: optional('a file', ANY, 'Certificate chain of the voice gateway, PEM.'),
  tls_key_file: optional('a file', ANY, 'Private key of the voice gateway, PEM.'),
  e2ee_required: onOff(
    true,
    'Whether a client without DAVE end-to-end encryption is refused (4017). When off, a call falls back while one is in it.',
  ),
  voice_heartbeat_interval_ms: whole(
    13_750,
    'ms',
    [1000, 10 * MINUTE_MS],
    'Heartbeat interval that voice clients are told.',
  ),
  voice_resume_window_ms: whole(
    60_000,
    'ms',
    [0, DAY_MS],
    'How long a voice session without a socket is kept in its call.',
  ),
  calls_max: whole(
    50_000,
    'calls',
    [1, 10_000_000],
    'Calls at one time; beyond it nobody is let into another.',
  ),
  call_members_max: whole(1000, 'members', [1, 100_000], 'Members of one call, whatever the channel allows.'),
};

/** The settings that say where clients find calls. */
interface VoiceAddressSettings {
  readonly voice_host: string;
  readonly voice_endpoint: string | null;
  readonly external_address: string | null;
  readonly public_url: string | null;
}

/** Addresses that one listens on, but that nobody can connect to. */
const UNSPECIFIED: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** The name or address of the voice gateway that clients are told, without a port. */
export function voiceGatewayHost(settings: VoiceAddressSettings): string {
  const { voice_endpoint: endpoint } = settings;
  return endpoint === null ? voiceHost(settings) : unbracketed(new URL(`wss://${endpoint}`).hostname);
}

/** The name or address by which clients reach `voice_host`. */
export function voiceHost(settings: VoiceAddressSettings): string {
  const { voice_host: host, external_address: external, public_url: url } = settings;
  if (!UNSPECIFIED.has(host)) return host;
  return external ?? (url === null ? 'localhost' : unbracketed(new URL(url).hostname));
}

/** Where clients are told to send media to, of a socket that listens on `host`. */
export const mediaHost = (settings: VoiceAddressSettings, host: string): string =>
  settings.external_address ?? (UNSPECIFIED.has(host) ? voiceHost(settings) : host);

const unbracketed = (host: string): string => host.replace(/^\[|\]$/g, '');
