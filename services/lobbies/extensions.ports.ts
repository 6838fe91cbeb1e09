import type { Authority } from '../../engine/kernel/authority.ts';
import type { Reply } from '../../engine/kernel/outcome.ts';
import type { BeyondObject } from '../../engine/lobby/beyond.ts';
import type { Listing } from '../../engine/lobby/lobby.ts';
import type { LobbyChange, MemberDraft } from '../../engine/lobby/members.ts';
import type { Metadata } from '../../engine/lobby/metadata.ts';
import type { LobbyObject } from '../../engine/lobby/objects.ts';
import type { SettingsChange } from '../../engine/lobby/settings.ts';
import type { ApplicationId, ChannelId, UserId } from '../../protocol/ids.ts';
import type { LobbySearch } from '../../storage/ports.lobbies.ts';

/** What lobbies have beyond the platform's operations; the rest of it are commands of the lobby. */
export interface LobbyExtensions {
  /** A lobby without a secret, with its maker in it unless that is the application's server. */
  create(
    input: {
      readonly change: LobbyChange;
      readonly settings: SettingsChange;
      /** undefined or null: none. */
      readonly password?: string | null | undefined;
      readonly member: MemberDraft;
    },
    authority: Authority,
  ): Promise<Reply<BeyondObject>>;
  /** Joins a listed lobby, or one that the caller is invited to. */
  enter(
    lobbyId: ChannelId,
    input: { readonly password: string | null; readonly member: MemberDraft },
    authority: Authority,
  ): Promise<Reply<LobbyObject>>;
  /** `password` undefined: as it was; null: none from now on. */
  configure(
    lobbyId: ChannelId,
    input: { readonly change: SettingsChange; readonly password?: string | null | undefined },
    authority: Authority,
  ): Promise<Reply<BeyondObject>>;
  search(
    search: Omit<LobbySearch, 'applicationId'>,
    authority: Authority,
  ): Promise<Reply<readonly Listing[]>>;
  /** Says something to the game of a lobby, or to its members. Nothing of it is stored. */
  speak(lobbyId: ChannelId, type: string, data: unknown, authority: Authority): Promise<Reply<null>>;
  /** For the server itself: a lobby with these players. When one is missing, the lobby is gone again. */
  gather(
    applicationId: ApplicationId,
    input: {
      readonly metadata: Metadata | null;
      readonly settings: SettingsChange;
      readonly players: readonly UserId[];
    },
  ): Promise<Reply<{ readonly lobbyId: ChannelId; readonly missing: readonly UserId[] }>>;
}
