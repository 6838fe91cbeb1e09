import { answerTo, fragmentOf, type Section } from '../../voice/sdp.ts';
import type { MediaFigures } from '../media.ts';
import type { TransformOptions } from './messages.ts';
import { type PagePeer, type PageStream, type PageTrack, type PageTransceiver, page } from './page.ts';
import type { ReachFacts } from './reach.ts';

interface PeerEvents {
  /** `connectionState` of the connection. */
  state(state: string): void;
  /** A member's track became available, or (null) ended. */
  sound(userId: string, stream: PageStream | null): void;
}

/** A receiving transceiver for one speaker at a time; reused, because media sections cannot be removed. */
interface Receiver {
  readonly transceiver: PageTransceiver;
  speaker: { readonly userId: string; readonly ssrc: number } | null;
}

/** At least two receiving sections: with one, browsers assign unknown SSRCs to it. */
const EARS_MIN = 2;

/** The page's WebRTC connection: one sending section for the microphone, one receiving section per speaker. */
export class Peer {
  readonly #connection: PagePeer = new (page().RTCPeerConnection)({ bundlePolicy: 'max-bundle' });
  readonly #transform: (direction: TransformOptions['direction']) => unknown;
  readonly #events: PeerEvents;
  readonly #sending: PageTransceiver;
  readonly #receivers: Receiver[] = [];
  #session: string | null = null;
  #negotiating: Promise<void> = Promise.resolve();
  #renegotiationDue = false;
  #counted = { received: 0, lost: 0 };

  /** @param transform Creates the encoded transform for one direction. */
  constructor(transform: (direction: TransformOptions['direction']) => unknown, events: PeerEvents) {
    this.#transform = transform;
    this.#events = events;
    this.#sending = this.#connection.addTransceiver('audio', { direction: 'sendonly' });
    this.#sending.sender.transform = this.#transform('send');
    for (let spare = 0; spare < EARS_MIN; spare++) this.#addReceiver();
    this.#connection.onconnectionstatechange = () => events.state(this.#connection.connectionState);
  }

  /** The SDP fragment for op 1. */
  async offer(): Promise<string> {
    await this.#connection.setLocalDescription(await this.#connection.createOffer());
    return fragmentOf(this.#connection.localDescription?.sdp ?? '');
  }

  /** The SDP of op 4. */
  accept(session: string): Promise<void> {
    this.#session = session;
    const accepted = this.#negotiating.then(() => {
      const offer = this.#connection.localDescription?.sdp ?? '';
      return this.#connection.setRemoteDescription({ type: 'answer', sdp: this.#answer(offer) });
    });
    this.#negotiating = accepted.catch(() => {});
    if (this.#receivers.some(({ speaker }) => speaker !== null)) this.#renegotiate();
    return accepted;
  }

  /** Null: nothing is sent, not even silence. */
  async send(track: PageTrack | null): Promise<void> {
    await this.#sending.sender.replaceTrack(track);
  }

  receive(userId: string, ssrc: number): void {
    if (this.#receivers.some(({ speaker }) => speaker?.userId === userId && speaker.ssrc === ssrc)) return;
    this.forget(userId);
    const receiver = this.#receivers.find(({ speaker }) => speaker === null) ?? this.#addReceiver();
    receiver.speaker = { userId, ssrc };
    this.#events.sound(userId, new (page().MediaStream)([receiver.transceiver.receiver.track]));
    this.#renegotiate();
  }

  forget(userId: string): void {
    const receiver = this.#receivers.find(({ speaker }) => speaker?.userId === userId);
    if (receiver === undefined) return;
    receiver.speaker = null;
    this.#events.sound(userId, null);
    this.#renegotiate();
  }

  async figures(): Promise<MediaFigures> {
    let [received, lost, jitterSec, roundTripSec] = [0, 0, null as number | null, null as number | null];
    for (const entry of (await this.#connection.getStats()).values()) {
      if (entry.type === 'inbound-rtp') {
        received += entry.packetsReceived ?? 0;
        lost += entry.packetsLost ?? 0;
        if ((entry.packetsReceived ?? 0) > 0) jitterSec = Math.max(jitterSec ?? 0, entry.jitter ?? 0);
      } else if (
        entry.type === 'candidate-pair' &&
        entry.nominated &&
        entry.currentRoundTripTime !== undefined
      )
        roundTripSec = entry.currentRoundTripTime;
    }
    const came = received - this.#counted.received;
    const missed = Math.max(0, lost - this.#counted.lost);
    this.#counted = { received, lost };
    const inMs = (seconds: number | null) => (seconds === null ? null : seconds * 1000);
    return {
      loss: came + missed > 0 ? missed / (came + missed) : null,
      jitterMs: inMs(jitterSec),
      roundTripMs: inMs(roundTripSec),
    };
  }

  /** Diagnostics for a connection that carries no audio. */
  async reach(): Promise<Pick<ReachFacts, 'session' | 'localCandidates' | 'pairs'>> {
    const stats = [...(await this.#connection.getStats()).values()];
    const count = (type: string): number => stats.filter((entry) => entry.type === type).length;
    return {
      session: this.#session,
      localCandidates: count('local-candidate'),
      pairs: count('candidate-pair'),
    };
  }

  close(): void {
    this.#connection.onconnectionstatechange = null;
    for (const { speaker } of this.#receivers) if (speaker !== null) this.#events.sound(speaker.userId, null);
    this.#connection.close();
  }

  #addReceiver(): Receiver {
    const transceiver = this.#connection.addTransceiver('audio', { direction: 'recvonly' });
    transceiver.receiver.transform = this.#transform('receive');
    const receiver = { transceiver, speaker: null };
    this.#receivers.push(receiver);
    return receiver;
  }

  /** Assigns sections to speakers; changes within one microtask are negotiated together. */
  #renegotiate(): void {
    if (this.#session === null || this.#renegotiationDue) return;
    this.#renegotiationDue = true;
    this.#negotiating = this.#negotiating
      .then(async () => {
        this.#renegotiationDue = false;
        if (this.#connection.signalingState === 'closed') return;
        const offer = await this.#connection.createOffer();
        await this.#connection.setLocalDescription(offer);
        await this.#connection.setRemoteDescription({ type: 'answer', sdp: this.#answer(offer.sdp ?? '') });
      })
      // The connection was closed during negotiation.
      .catch(() => {});
  }

  #answer(offer: string): string {
    const receiving = this.#receivers.flatMap(({ transceiver, speaker }) =>
      transceiver.mid === null ? [] : [{ mid: transceiver.mid, sends: false, ssrc: speaker?.ssrc ?? null }],
    );
    const sending: Section = { mid: this.#sending.mid ?? '0', sends: true, ssrc: null };
    return answerTo(offer, this.#session ?? '', [sending, ...receiving]);
  }
}
