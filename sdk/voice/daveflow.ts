import { SILENCE_FRAME, VOICE_OP } from '../../protocol/voice.ts';
import { asNumber, type Json } from './wire.ts';

/**
 * One member's view of an MLS group: what this flow needs of a DAVE library. Every method except the getters may
 * throw.
 */
export interface DaveGroup {
  readonly ready: boolean;
  readonly epoch: bigint | null;
  readonly voicePrivacyCode: string;
  reinit(version: number, userId: string, channelId: string): void;
  reset(): void;
  setExternalSender(externalSender: Uint8Array): void;
  getSerializedKeyPackage(): Uint8Array;
  processProposals(
    operation: number,
    proposals: Uint8Array,
    knownUserIds: string[],
  ): { commit?: Uint8Array; welcome?: Uint8Array };
  processWelcome(welcome: Uint8Array): void;
  processCommit(commit: Uint8Array): void;
  setPassthroughMode(passthrough: boolean, expirySec: number): void;
  canPassthrough(userId: string): boolean;
  encryptOpus(frame: Uint8Array): Uint8Array;
  decrypt(userId: string, mediaType: number, frame: Uint8Array): Uint8Array;
  getUserIds(): string[];
}

interface DaveFlowOptions {
  readonly userId: string;
  readonly channelId: string;
  readonly newGroup: (version: number, userId: string, channelId: string) => DaveGroup;
  readonly send: (op: number, d: Json) => void;
  readonly sendBinary: (op: number, payload: Uint8Array) => void;
  /** The status for display changed. */
  readonly changed: (status: DaveStatus) => void;
}

export interface DaveStatus {
  /** 0: frames are not end-to-end encrypted. */
  readonly version: number;
  /** Frames can be encrypted and decrypted. */
  readonly ready: boolean;
  readonly epoch: string | null;
  /** 30 digits, equal for all members; empty without a group. */
  readonly privacyCode: string;
  readonly userIds: readonly string[];
}

const AUDIO = 0;
/** Frames of the previous version are accepted for this long after a change. */
const PASSTHROUGH_SEC = 10;
/** An announced downgrade takes effect at the latest after this time. */
const DOWNGRADE_SEC = 24;
/** Consecutive frames of one member that fail to decrypt before the group is rejoined: 0.7 seconds. */
const FAILURES_MAX = 36;

/**
 * A member's handling of ops 21 to 31 and of media frames. The delivery service decides the order; the member
 * follows, answers, and asks to be added again when it cannot follow.
 *
 * @source https://daveprotocol.com; version 1.1.4
 */
export class DaveFlow {
  readonly #options: DaveFlowOptions;
  /** Users named by the voice gateway; no other user may join the group. */
  readonly #known = new Set<string>();
  readonly #pending = new Map<number, number>();
  #group: DaveGroup | null = null;
  #version = 0;
  #lastTransition = 0;
  #recovering = false;
  /** Consecutive decryption failures by user. */
  readonly #failures = new Map<string, number>();

  constructor(options: DaveFlowOptions) {
    this.#options = options;
    this.#known.add(options.userId);
  }

  /** Op 4 contains the current protocol version. */
  begin(version: number): void {
    this.#version = version;
    this.#pending.clear();
    this.#restart();
  }

  joined(userIds: readonly string[]): void {
    for (const userId of userIds) this.#known.add(userId);
  }

  left(userId: string): void {
    this.#known.delete(userId);
    this.#failures.delete(userId);
  }

  json(op: number, d: Json): void {
    const [transitionId, version] = [asNumber(d.transition_id), asNumber(d.protocol_version)];
    if (op === VOICE_OP.DAVE_PREPARE_EPOCH) {
      if (asNumber(d.epoch) !== 1) return;
      this.#version = version;
      this.#restart();
    } else if (Number.isNaN(transitionId)) return;
    else if (op === VOICE_OP.DAVE_PREPARE_TRANSITION) this.#prepare(transitionId, version);
    else if (op === VOICE_OP.DAVE_EXECUTE_TRANSITION) this.#execute(transitionId);
    this.#reportStatus();
  }

  binary(op: number, payload: Uint8Array): void {
    const group = this.#group;
    if (group === null) return;
    if (op === VOICE_OP.DAVE_MLS_EXTERNAL_SENDER) attempt(() => group.setExternalSender(payload));
    else if (op === VOICE_OP.DAVE_MLS_PROPOSALS) this.#propose(group, payload);
    else if (op === VOICE_OP.DAVE_MLS_ANNOUNCE_COMMIT_TRANSITION)
      this.#follow(payload, (commit) => group.processCommit(commit));
    else if (op === VOICE_OP.DAVE_MLS_WELCOME)
      this.#follow(payload, (welcome) => group.processWelcome(welcome));
    this.#reportStatus();
  }

  /** @returns the frame to send; null: drop it, because it must be encrypted and could not be. */
  encrypt(frame: Uint8Array): Uint8Array | null {
    if (this.#version === 0 || isSilence(frame)) return frame;
    const group = this.#group;
    if (group === null || !group.ready) return null;
    return attempt(() => group.encryptOpus(frame));
  }

  /** @returns the frame to play; null when it cannot be decrypted. */
  decrypt(userId: string, frame: Uint8Array): Uint8Array | null {
    const group = this.#group;
    if (isSilence(frame)) return frame;
    if (group === null || !group.ready) return this.#version === 0 ? frame : null;
    if (this.#version === 0 && !group.canPassthrough(userId)) return frame;
    const opened = attempt(() => group.decrypt(userId, AUDIO, frame));
    const failures = opened === null ? (this.#failures.get(userId) ?? 0) + 1 : 0;
    this.#failures.set(userId, failures);
    if (failures > FAILURES_MAX && this.#pending.size === 0) this.#recover(this.#lastTransition);
    return opened;
  }

  #restart(): void {
    const { userId, channelId, newGroup } = this.#options;
    if (this.#version > 0) {
      if (this.#group === null) this.#group = newGroup(this.#version, userId, channelId);
      else this.#group.reinit(this.#version, userId, channelId);
      this.#options.sendBinary(VOICE_OP.DAVE_MLS_KEY_PACKAGE, this.#group.getSerializedKeyPackage());
    } else if (this.#group !== null) {
      this.#group.reset();
      this.#group.setPassthroughMode(true, PASSTHROUGH_SEC);
    }
    this.#failures.clear();
    this.#reportStatus();
  }

  #prepare(transitionId: number, version: number): void {
    this.#pending.set(transitionId, version);
    if (transitionId === 0) {
      this.#execute(0);
      return;
    }
    const group = this.#group;
    if (version === 0 && group !== null) attempt(() => group.setPassthroughMode(true, DOWNGRADE_SEC));
    this.#options.send(VOICE_OP.DAVE_TRANSITION_READY, { transition_id: transitionId });
  }

  #execute(transitionId: number): void {
    const version = this.#pending.get(transitionId);
    if (version === undefined) return;
    this.#pending.delete(transitionId);
    const group = this.#group;
    if (this.#version === 0 && version > 0 && group !== null)
      attempt(() => group.setPassthroughMode(true, PASSTHROUGH_SEC));
    this.#version = version;
    this.#lastTransition = transitionId;
    this.#recovering = false;
  }

  #propose(group: DaveGroup, payload: Uint8Array): void {
    const result = attempt(() =>
      group.processProposals(payload[0] ?? 0, payload.subarray(1), [...this.#known]),
    );
    if (result?.commit === undefined) return;
    const { commit, welcome } = result;
    this.#options.sendBinary(VOICE_OP.DAVE_MLS_COMMIT_WELCOME, concat(commit, welcome ?? new Uint8Array()));
  }

  /** A commit or a welcome: big-endian u16 transition, then the message. */
  #follow(payload: Uint8Array, process: (message: Uint8Array) => void): void {
    if (payload.length < 3) return;
    const transitionId = (payload[0]! << 8) | payload[1]!;
    try {
      process(payload.subarray(2));
    } catch {
      this.#recover(transitionId);
      return;
    }
    this.#failures.clear();
    if (transitionId === 0) {
      this.#recovering = false;
      this.#lastTransition = 0;
      return;
    }
    this.#pending.set(transitionId, this.#version);
    this.#options.send(VOICE_OP.DAVE_TRANSITION_READY, { transition_id: transitionId });
  }

  #recover(transitionId: number): void {
    if (this.#recovering) return;
    this.#recovering = true;
    this.#options.send(VOICE_OP.DAVE_MLS_INVALID_COMMIT_WELCOME, { transition_id: transitionId });
    this.#restart();
  }

  #reportStatus(): void {
    const group = this.#group;
    const encrypted = this.#version > 0 && group !== null;
    this.#options.changed({
      version: this.#version,
      ready: encrypted && group.ready,
      epoch: encrypted && group.epoch !== null ? String(group.epoch) : null,
      privacyCode: encrypted ? group.voicePrivacyCode : '',
      userIds: encrypted ? group.getUserIds() : [],
    });
  }
}

const isSilence = (frame: Uint8Array): boolean =>
  frame.length === SILENCE_FRAME.length && SILENCE_FRAME.every((byte, i) => frame[i] === byte);

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

function attempt<T>(run: () => T): T | null {
  try {
    return run();
  } catch {
    return null;
  }
}
