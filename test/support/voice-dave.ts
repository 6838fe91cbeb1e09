import { type Codec, DAVE_PROTOCOL_VERSION, DAVESession, type MediaType } from '@snazzah/davey';
import { VOICE_OP } from '../../protocol/voice.ts';
import type { VoiceClient, VoiceFrame } from './voice-client.ts';

/** The enumerations exist for the compiler only. */
const AUDIO = 0 as MediaType;
const VIDEO = 1 as MediaType;
const VP8 = 2 as Codec;

/** The client's part of DAVE over a voice client, by the published implementation of the protocol. */
export class VoiceDave {
  readonly session: DAVESession;
  readonly #client: VoiceClient;
  readonly #userId: string;
  readonly #channelId: string;
  /** Users that op 11 named and op 13 has not taken back. */
  readonly #present = new Set<string>();
  /** Transitions that were executed, in order. */
  readonly executed: number[] = [];
  /** Commits and welcomes that were refused. */
  readonly failures: unknown[] = [];

  /** Make it before op 4 comes: it answers that with a key package. */
  constructor(client: VoiceClient, userId: string, channelId: string) {
    this.session = new DAVESession(DAVE_PROTOCOL_VERSION, userId, channelId);
    this.#client = client;
    this.#userId = userId;
    this.#channelId = channelId;
    for (const frame of client.received) this.#take(frame);
    client.onFrame = (frame) => this.#take(frame);
  }

  get ready(): boolean {
    return this.session.ready;
  }

  get privacyCode(): string {
    return this.session.voicePrivacyCode;
  }

  encrypt(opus: Uint8Array): Buffer {
    return this.session.encryptOpus(Buffer.from(opus));
  }

  /** @throws when the frame cannot be opened. */
  decrypt(userId: string, frame: Buffer): Buffer {
    return this.session.decrypt(userId, AUDIO, frame);
  }

  encryptVp8(frame: Uint8Array): Buffer {
    return this.session.encrypt(VIDEO, VP8, Buffer.from(frame));
  }

  /** @throws when the frame cannot be opened. */
  decryptVideo(userId: string, frame: Buffer): Buffer {
    return this.session.decrypt(userId, VIDEO, frame);
  }

  #take({ op, d, payload }: VoiceFrame): void {
    if (payload) this.#takeBinary(op, payload);
    else if (op === VOICE_OP.CLIENTS_CONNECT) for (const id of d.user_ids as string[]) this.#present.add(id);
    else if (op === VOICE_OP.CLIENT_DISCONNECT) this.#present.delete(String(d.user_id));
    else if (op === VOICE_OP.SESSION_DESCRIPTION && Number(d.dave_protocol_version) > 0) this.#publish();
    else if (op === VOICE_OP.DAVE_PREPARE_EPOCH && d.epoch === 1) this.#renew();
    else if (op === VOICE_OP.DAVE_PREPARE_TRANSITION) this.#prepared(Number(d.transition_id));
    else if (op === VOICE_OP.DAVE_EXECUTE_TRANSITION) this.executed.push(Number(d.transition_id));
  }

  #takeBinary(op: number, payload: Buffer): void {
    if (op === VOICE_OP.DAVE_MLS_EXTERNAL_SENDER) this.session.setExternalSender(payload);
    else if (op === VOICE_OP.DAVE_MLS_PROPOSALS) {
      const { commit, welcome } = this.session.processProposals(payload.readUInt8(0), payload.subarray(1), [
        ...this.#present,
      ]);
      if (commit)
        this.#client.sendBinary(
          VOICE_OP.DAVE_MLS_COMMIT_WELCOME,
          Buffer.concat([commit, welcome ?? Buffer.alloc(0)]),
        );
    } else if (op === VOICE_OP.DAVE_MLS_ANNOUNCE_COMMIT_TRANSITION)
      this.#follow(payload, (commit) => this.session.processCommit(commit));
    else if (op === VOICE_OP.DAVE_MLS_WELCOME)
      this.#follow(payload, (welcome) => this.session.processWelcome(welcome));
  }

  #follow(payload: Buffer, process: (message: Buffer) => void): void {
    const transitionId = payload.readUInt16BE(0);
    try {
      process(payload.subarray(2));
      this.#prepared(transitionId);
    } catch (error) {
      this.failures.push(error);
      this.#client.send(VOICE_OP.DAVE_MLS_INVALID_COMMIT_WELCOME, { transition_id: transitionId });
      this.#renew();
    }
  }

  #prepared(transitionId: number): void {
    if (transitionId !== 0)
      this.#client.send(VOICE_OP.DAVE_TRANSITION_READY, { transition_id: transitionId });
    else this.executed.push(0);
  }

  #renew(): void {
    this.session.reinit(DAVE_PROTOCOL_VERSION, this.#userId, this.#channelId);
    this.#publish();
  }

  #publish(): void {
    this.#client.sendBinary(VOICE_OP.DAVE_MLS_KEY_PACKAGE, this.session.getSerializedKeyPackage());
  }
}
