import type { PeerConnection, Track } from 'node-datachannel';
import type { PeerEvents, PeerOptions, PeerPort, PeerStream } from './ports.ts';
import { type PeerOffer, parseFragment, remoteOffer, sessionSdp } from './sdp.ts';
import { createTranslation, type Translation } from './translation.ts';

type Native = typeof import('node-datachannel');

const CONNECT_MS = 15_000;
const PEERS_MAX = 1000;
const PACKET_BYTES_MAX = 1500;
/** Packets a browser may send per second: 8 Mbit/s of video with sound. The excess is dropped; a minute's worth of it closes the peer. */
const PACKETS_PER_SECOND = 1200;
const PACKETS_BURST = 2400;
const DROPPED_MAX = PACKETS_PER_SECOND * 60;

interface Peer {
  readonly ssrc: number;
  readonly connection: PeerConnection;
  readonly track: Track;
  readonly translation: Translation;
  readonly timer: NodeJS.Timeout;
  readonly allowance: Allowance;
  connected: boolean;
}

/**
 * Browsers in calls over one UDP port: node-datachannel does ICE, DTLS and SRTP, and hands over plain packets. The library
 * holds the port while there are peers; otherwise the reservation does.
 *
 * The native library keeps its state in process-wide statics, so it is loaded on the main thread, with the first peer. It
 * aborts the process when a callback throws, or when a track that is not open is written to; this module prevents both.
 * The library silently drops a datagram that belongs to no peer.
 */
export function createPeers(options: PeerOptions, events: PeerEvents): PeerPort {
  const { peersMax = PEERS_MAX } = options;
  const peers = new Map<number, Peer>();
  /** The latest `open` or `close` of each member; a pending `open` that is no longer the latest gives up. */
  const turns = new Map<number, symbol>();

  const vacant = (): null => {
    if (peers.size === 0) options.reservation?.hold();
    return null;
  };
  const drop = (peer: Peer): void => {
    clearTimeout(peer.timer);
    if (peers.get(peer.ssrc) === peer) peers.delete(peer.ssrc);
    attempt(() => peer.connection.close());
    vacant();
  };
  const fail = (peer: Peer): void => {
    if (peers.get(peer.ssrc) !== peer) return;
    drop(peer);
    events.state(peer.ssrc, 'failed');
  };
  const received = (peer: Peer, packet: Buffer): void => {
    if (peers.get(peer.ssrc) !== peer || packet.length > PACKET_BYTES_MAX) return;
    const { allowance, translation, ssrc } = peer;
    if (allowance.take()) {
      if (translation.inbound(packet)) events.packet(ssrc, packet);
    } else if (allowance.dropped > DROPPED_MAX) fail(peer);
  };
  const stateChanged = (peer: Peer, state: string): void => {
    if (peers.get(peer.ssrc) === peer) follow(peer, state, events, fail);
  };
  const close = (ssrc: number): void => {
    turns.delete(ssrc);
    if (peers.has(ssrc)) drop(peers.get(ssrc)!);
  };

  return {
    async open(ssrc, fragment, streams = []) {
      const offer = parseFragment(fragment);
      if (offer === null) return null;
      close(ssrc);
      if (peers.size >= peersMax) return null;
      const turn = Symbol('turn');
      turns.set(ssrc, turn);
      const native = await load();
      if (turns.get(ssrc) !== turn) return null;
      turns.delete(ssrc);
      options.reservation?.release();
      const peer = connect(native, options, { ssrc, offer, streams }, { fail, received, stateChanged });
      if (peer === null) return vacant();
      peers.set(ssrc, peer);
      const sdp = answer(peer.connection, options);
      if (sdp === null) drop(peer);
      return sdp;
    },
    send(ssrc, packet) {
      const peer = peers.get(ssrc);
      if (peer === undefined || !peer.connected || packet.length > PACKET_BYTES_MAX) return false;
      const copy = Buffer.from(packet);
      if (!peer.translation.outbound(copy)) return false;
      return attempt(() => peer.track.isOpen() && peer.track.sendMessageBinary(copy)) === true;
    },
    close,
    closeAll() {
      turns.clear();
      for (const peer of [...peers.values()]) drop(peer);
      options.reservation?.release();
    },
  };
}

/** Handles a state change of a peer's connection; calls `fail` when the connection is lost. */
function follow(peer: Peer, state: string, events: PeerEvents, fail: (peer: Peer) => void): void {
  if (state === 'disconnected' || state === 'failed' || state === 'closed') fail(peer);
  else if (state === 'connected' && !peer.connected) {
    peer.connected = true;
    clearTimeout(peer.timer);
    events.state(peer.ssrc, 'connected');
  }
}

interface PeerSlot {
  readonly ssrc: number;
  readonly offer: PeerOffer;
  readonly streams: readonly PeerStream[];
}

interface Reactions {
  fail(peer: Peer): void;
  received(peer: Peer, packet: Buffer): void;
  stateChanged(peer: Peer, state: string): void;
}

/** Creates the connection; null when the library refuses, which input accepted by `parseFragment` should not cause. */
function connect(native: Native, options: PeerOptions, place: PeerSlot, on: Reactions): Peer | null {
  const { ssrc, offer, streams } = place;
  const connection = new native.PeerConnection(String(ssrc), {
    iceServers: [],
    bindAddress: options.bindAddress,
    enableIceUdpMux: true,
    portRangeBegin: options.port,
    portRangeEnd: options.port,
    disableAutoNegotiation: true,
  });
  const track = attempt(() => {
    connection.setRemoteDescription(remoteOffer(offer), 'offer');
    const audio = new native.Audio('0', 'SendRecv');
    audio.addOpusCodec(offer.payloads.find(({ kind }) => kind === 'audio')!.browserType);
    audio.addSSRC(ssrc, String(ssrc));
    return connection.addTrack(audio);
  });
  if (track === null) {
    connection.close();
    return null;
  }
  const peer: Peer = {
    ssrc,
    connection,
    track,
    translation: createTranslation(ssrc, streams, offer),
    timer: setTimeout(() => on.fail(peer), options.connectMs ?? CONNECT_MS).unref(),
    allowance: new Allowance(),
    connected: false,
  };
  const guarded = (run: () => void): void => {
    try {
      run();
    } catch {
      on.fail(peer);
    }
  };
  connection.onStateChange((state) => guarded(() => on.stateChanged(peer, state)));
  track.onMessage((packet) => guarded(() => on.received(peer, packet)));
  return peer;
}

/** Creates the local description, which starts listening; null when the port cannot be bound. */
function answer(connection: PeerConnection, { externalAddress, port }: PeerOptions): string | null {
  return attempt(() => {
    connection.setLocalDescription('answer', {});
    const local = connection.localDescription();
    return local === null ? null : sessionSdp(local.sdp, externalAddress, port);
  });
}

function attempt<T>(run: () => T): T | null {
  try {
    return run();
  } catch {
    return null;
  }
}

let loading: Promise<Native> | null = null;

function load(): Promise<Native> {
  loading ??= import('node-datachannel');
  return loading;
}

/** Packets a peer may still send: a token bucket that refills by arrival time. */
class Allowance {
  dropped = 0;
  #left = PACKETS_BURST;
  #atMs = performance.now();

  take(): boolean {
    const nowMs = performance.now();
    this.#left = Math.min(PACKETS_BURST, this.#left + ((nowMs - this.#atMs) * PACKETS_PER_SECOND) / 1000);
    this.#atMs = nowMs;
    if (this.#left >= 1) {
      this.#left--;
      return true;
    }
    this.dropped++;
    return false;
  }
}
