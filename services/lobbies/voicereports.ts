import type { Authority } from '../../engine/kernel/authority.ts';
import type { ChannelId } from '../../protocol/ids.ts';
import type { LobbyVoiceRequest } from '../../protocol/link.sessions.ts';
import { type Repeat, served } from '../repeating.ts';
import type { LobbyOperations } from './ports.ts';

export type VoiceRequest = Omit<LobbyVoiceRequest, 'lobbyId'>;

/** What a session asked for last: its voice state, or null to be in no call of the lobby. */
interface VoiceWish {
  readonly authority: Authority;
  readonly voice: VoiceRequest | null;
}

interface VoiceReportPorts {
  readonly call: LobbyOperations['call'];
  /** Repeats calls of lobbies that failed. */
  readonly repeat: Repeat;
  /** Null when the session has ended, or is in the lobby no more. */
  readonly wishOf: (lobbyId: ChannelId, sessionId: string) => VoiceWish | null;
}

/**
 * Reports to lobbies whether sessions want to be in their calls: for each session and lobby one report after another, and each until the
 * lobby has answered, so that the last one is of what the session asked for last.
 */
export class VoiceReports {
  readonly #ports: VoiceReportPorts;
  /** By session and lobby: whether the session has asked for something else since the report began. */
  readonly #underWay = new Map<string, { isOutdated: boolean }>();

  constructor(ports: VoiceReportPorts) {
    this.#ports = ports;
  }

  report(lobbyId: ChannelId, sessionId: string): void {
    const key = `${sessionId}:${lobbyId}`;
    const underWay = this.#underWay.get(key);
    if (underWay) {
      underWay.isOutdated = true;
      return;
    }
    const report = { isOutdated: true };
    this.#underWay.set(key, report);
    const end = (): void => void this.#underWay.delete(key);
    const run = async (): Promise<void> => {
      while (report.isOutdated) {
        report.isOutdated = false;
        await this.#send(lobbyId, sessionId).catch((fault) => {
          report.isOutdated = true;
          throw fault;
        });
      }
      end();
    };
    this.#ports.repeat(lobbyId, run, end);
  }

  /** @throws NotServed when the lobby has no room for another command. */
  async #send(lobbyId: ChannelId, sessionId: string): Promise<void> {
    const { call, wishOf } = this.#ports;
    const wish = wishOf(lobbyId, sessionId);
    if (!wish) return;
    const { voice, authority } = wish;
    const answering = voice
      ? call(lobbyId, 'setVoice', { ...voice, sessionId }, authority)
      : call(lobbyId, 'leaveVoice', { sessionId }, authority);
    served<unknown>(await answering);
  }
}
