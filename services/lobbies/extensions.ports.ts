import type { Reply } from '../../engine/kernel/aggregate.ts';
import type { Authority } from '../../engine/kernel/authority.ts';
import type { LobbyExtensionObject } from '../../engine/lobby/extensions.ts';
import type { MatchedTicket } from '../../engine/lobby/facts.ts';
import type { Listing } from '../../engine/lobby/lobby.ts';
import type { MemberDraft } from '../../engine/lobby/members.ts';
import type { Metadata } from '../../engine/lobby/metadata.ts';
import type { LobbyObject } from '../../engine/lobby/objects.ts';
import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';
import type { LobbyChange, SettingsChange } from '../../protocol/schemas/lobbyfields.ts';
import type { LobbySearch } from '../../storage/lobby/port.ts';

/** Operations on lobbies that the platform does not have. Further ones are commands of the lobby. */
export interface LobbyExtensions {
  /** Creates a lobby without a secret; its creator joins it unless that is the application's server. */
  create(
    input: {
      readonly change: LobbyChange;
      readonly settings: SettingsChange;
      /** Undefined or null means no password. */
      readonly password?: string | null;
      readonly member: MemberDraft;
    },
    authority: Authority,
  ): Promise<Reply<LobbyExtensionObject>>;
  /** Joins a listed lobby, or one that the caller is invited to. */
  enter(
    lobbyId: ChannelId,
    input: { readonly password: string | null; readonly member: MemberDraft },
    authority: Authority,
  ): Promise<Reply<LobbyObject>>;
  /** `password` undefined keeps the password; null removes it. */
  configure(
    lobbyId: ChannelId,
    input: { readonly change: SettingsChange; readonly password?: string | null | undefined },
    authority: Authority,
  ): Promise<Reply<LobbyExtensionObject>>;
  search(
    search: Omit<LobbySearch, 'applicationId'>,
    authority: Authority,
  ): Promise<Reply<readonly Listing[]>>;
  /** Sends a message to the game of a lobby, or to its members. It is not stored. */
  speak(lobbyId: ChannelId, type: string, data: unknown, authority: Authority): Promise<Reply<null>>;
  /** Creates a lobby with these players, for the server itself. If any player cannot join, the lobby is deleted. */
  createWith(
    applicationId: ApplicationId,
    input: {
      readonly metadata: Metadata | null;
      readonly settings: SettingsChange;
      readonly players: readonly UserId[];
      /** The tickets of the match, which its players are sent with the lobby. */
      readonly matched: (lobbyId: ChannelId) => readonly MatchedTicket[];
    },
  ): Promise<Reply<{ readonly lobbyId: ChannelId; readonly missing: readonly UserId[] }>>;
}
