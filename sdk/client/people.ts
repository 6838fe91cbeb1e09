import type { RelationshipGroupType } from '../enums.ts';
import type { RelationshipHandle, UserApplicationProfileHandle, UserHandle } from '../handles.ts';
import { invalid, notReady } from '../result.ts';
import type { Disposer } from '../signal.ts';
import { groupOf, isFriend } from '../store/people.ts';
import type { RelationshipRecord } from '../store/store.ts';
import { type Core, checkId } from './core.ts';

type Kind = 'relationships' | 'game-relationships';

const BLOCK = 2;
const FOUND_MAX = 100;
const NAME_CHARS_MAX = 100;

/** Users, platform friends and game friends. Changes arrive over the gateway. */
export class People {
  readonly #core: Core;

  constructor(core: Core) {
    this.#core = core;
  }

  /** The current user; null before Ready. */
  getCurrentUserV2(): UserHandle | null {
    return this.#core.state.meId === null ? null : this.#core.handles.user(this.#core.state.meId);
  }

  /** @throws ClientError before Ready, where `getCurrentUserV2` returns null. */
  getCurrentUser(): UserHandle {
    const user = this.getCurrentUserV2();
    if (user === null) throw notReady();
    return user;
  }

  getUser(userId: string): UserHandle | null {
    return this.#core.handles.user(userId);
  }

  setUserUpdatedCallback(callback: (userId: string) => void): Disposer {
    return this.#core.signals.userUpdated.set(callback);
  }

  /** External accounts of a user. */
  getUserApplicationProfiles(userId: string): readonly UserApplicationProfileHandle[] {
    return this.#core.handles.user(userId)?.userApplicationProfiles ?? [];
  }

  /** Relationship with any user; both types are None without one. */
  getRelationshipHandle(userId: string): RelationshipHandle {
    return this.#core.handles.relationship(userId);
  }

  getRelationships(): RelationshipHandle[] {
    return [...this.#core.state.relationships.keys()].map((userId) =>
      this.#core.handles.relationship(userId),
    );
  }

  /** Platform and game friends, sorted by name. */
  getRelationshipsByGroup(groupType: RelationshipGroupType): RelationshipHandle[] {
    const nameOf = ({ user }: RelationshipHandle) => user?.displayName.toLowerCase() ?? '';
    return this.#friends()
      .filter(({ userId }) => groupOf(this.#core.state, userId) === groupType)
      .map(({ userId }) => this.#core.handles.relationship(userId))
      .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : nameOf(a) > nameOf(b) ? 1 : 0));
  }

  /** Friends whose user name or display name contains the text, ignoring case; at most 100. */
  searchFriendsByUsername(searchStr: string): UserHandle[] {
    const wanted = searchStr.toLowerCase();
    const found = this.#friends().flatMap(({ userId }) => this.#core.handles.user(userId) ?? []);
    return found
      .filter(({ username, displayName }) =>
        [username, displayName].some((name) => name.toLowerCase().includes(wanted)),
      )
      .slice(0, FOUND_MAX);
  }

  sendPlatformFriendRequest(username: string): Promise<void> {
    return this.#request('relationships', username);
  }

  sendPlatformFriendRequestById(userId: string): Promise<void> {
    return this.#befriend('relationships', userId);
  }

  acceptPlatformFriendRequest(userId: string): Promise<void> {
    return this.#befriend('relationships', userId);
  }

  rejectPlatformFriendRequest(userId: string): Promise<void> {
    return this.#end('relationships', userId);
  }

  cancelPlatformFriendRequest(userId: string): Promise<void> {
    return this.#end('relationships', userId);
  }

  /** Sends a game friend request; the other user must play this game. */
  sendGameFriendRequest(username: string): Promise<void> {
    return this.#request('game-relationships', username);
  }

  sendGameFriendRequestById(userId: string): Promise<void> {
    return this.#befriend('game-relationships', userId);
  }

  acceptGameFriendRequest(userId: string): Promise<void> {
    return this.#befriend('game-relationships', userId);
  }

  rejectGameFriendRequest(userId: string): Promise<void> {
    return this.#end('game-relationships', userId);
  }

  cancelGameFriendRequest(userId: string): Promise<void> {
    return this.#end('game-relationships', userId);
  }

  removeGameFriend(userId: string): Promise<void> {
    return this.#end('game-relationships', userId);
  }

  /** Removes both kinds of friendship. */
  async removePlatformAndGameFriend(userId: string): Promise<void> {
    const { platformRelationshipType, gameRelationshipType } = this.#core.handles.relationship(
      checkId('userId', userId),
    );
    if (platformRelationshipType !== 0) await this.#end('relationships', userId);
    if (gameRelationshipType !== 0) await this.#end('game-relationships', userId);
  }

  /** Blocks a user everywhere. It does not mute voice: use `setLocalMute` of the call. */
  blockUser(userId: string): Promise<void> {
    return this.#befriend('relationships', userId, { type: BLOCK });
  }

  unblockUser(userId: string): Promise<void> {
    return this.#end('relationships', userId);
  }

  setRelationshipCreatedCallback(
    callback: (userId: string, isPlatformRelationshipUpdate: boolean) => void,
  ): Disposer {
    return this.#core.signals.relationshipCreated.set(callback);
  }

  setRelationshipDeletedCallback(
    callback: (userId: string, isPlatformRelationshipUpdate: boolean) => void,
  ): Disposer {
    return this.#core.signals.relationshipDeleted.set(callback);
  }

  /** A friend came online, started the game, or went offline. */
  setRelationshipGroupsUpdatedCallback(callback: (userId: string) => void): Disposer {
    return this.#core.signals.relationshipGroupsUpdated.set(callback);
  }

  /** Sends a friend request, or accepts the other user's. */
  async #befriend(kind: Kind, userId: string, body: object = {}): Promise<void> {
    const id = checkId('userId', userId);
    await this.#core.http.call({ method: 'PUT', path: `/users/@me/${kind}/${id}`, body });
  }

  async #end(kind: Kind, userId: string): Promise<void> {
    const id = checkId('userId', userId);
    await this.#core.http.call({ method: 'DELETE', path: `/users/@me/${kind}/${id}` });
  }

  async #request(kind: Kind, username: string): Promise<void> {
    if (typeof username !== 'string' || username.length < 1 || username.length > NAME_CHARS_MAX)
      throw invalid(`username must have 1 to ${NAME_CHARS_MAX} characters.`);
    const body = { username, discriminator: null };
    await this.#core.http.call({ method: 'POST', path: `/users/@me/${kind}`, body });
  }

  #friends(): RelationshipRecord[] {
    return [...this.#core.state.relationships.values()].filter(isFriend);
  }
}
