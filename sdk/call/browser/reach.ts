/** Diagnostics of a WebRTC connection that does not connect. */
export interface ReachFacts {
  /** The SDP of op 4; null before it arrived. */
  readonly session: string | null;
  /** Host of the page's URL. */
  readonly pageHost: string;
  readonly isFirefox: boolean;
  /** Number of local candidates the browser gathered. */
  readonly localCandidates: number;
  /** Number of candidate pairs the browser tested or is testing. */
  readonly pairs: number;
}

const CANDIDATE = /^a=candidate:\S+ 1 \S+ \d+ (\S+) (\d+) typ host/m;

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || /^127\.|^\[?::1\]?$/.test(host);

/** Explains to the user why no audio is carried and what to do. */
export function whyUnreached(facts: ReachFacts): string {
  const { session, pageHost, isFirefox, localCandidates, pairs } = facts;
  const [, address = '', port = ''] = CANDIDATE.exec(session ?? '') ?? [];
  if (address === '')
    return 'The voice server has not said where to send sound. Leave and join again; if that changes nothing, look at the log of the server.';
  if (isLoopback(address) && !isLoopback(pageHost))
    return (
      `The server gave this browser the address ${address} for sound, which is this device and not the server. ` +
      'On the server, set external_address to the address at which this browser reaches it, and voice_host to one that is open to it.'
    );
  if (localCandidates === 0)
    return (
      'This browser has no network address for calls: this device has no network, or WebRTC is turned off or blocked ' +
      'by an extension. Connect to a network, or allow WebRTC for this page.'
    );
  if (isFirefox && isLoopback(address) && pairs === 0)
    return (
      `Firefox sends no calls to ${address}. Start the server with --voice-address auto, which opens UDP port ${port} on the ` +
      'network address of this machine; or use a browser that does send them there, such as Chromium.'
    );
  return (
    `Nothing came back from ${address}, UDP port ${port}: a firewall may be in between, or the address is not the server's. ` +
    `Let UDP port ${port} through, or set external_address on the server to the address at which this browser reaches it.`
  );
}
