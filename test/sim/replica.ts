interface Named {
  readonly id: string;
  readonly name?: string;
}

interface Arriving {
  readonly id: string;
  readonly name: string;
  readonly channels: readonly (Named & { readonly last_message_id?: string | null })[];
  readonly roles: readonly Named[];
  readonly members: readonly { readonly user: { readonly id: string }; readonly roles: readonly string[] }[];
  readonly presences: readonly { readonly user: { readonly id: string }; readonly status: string }[];
  readonly voice_states: readonly Voice[];
}

interface Voice {
  readonly user_id: string;
  readonly channel_id: string | null;
}

/** A guild as a client knows it, from GUILD_CREATE and the dispatches after it. */
export class Replica {
  name: string;
  readonly channels: Map<string, string | undefined>;
  readonly roles: Map<string, string | undefined>;
  readonly presences: Map<string, string>;
  readonly voice: Map<string, string>;
  /** The roles of its user; null when the user is not a member. */
  ownRoles: readonly string[] | null = null;
  readonly #userId: string;

  constructor(userId: string, created: object) {
    const guild = created as Arriving;
    this.#userId = userId;
    this.name = guild.name;
    this.channels = new Map(guild.channels.map(({ id, name }) => [id, name]));
    this.roles = new Map(guild.roles.map(({ id, name }) => [id, name]));
    this.presences = new Map(guild.presences.map(({ user, status }) => [user.id, status]));
    this.voice = new Map(
      guild.voice_states.flatMap(({ user_id, channel_id }) => (channel_id ? [[user_id, channel_id]] : [])),
    );
    this.#member(guild.members.find(({ user }) => user.id === userId));
  }

  apply(t: string, d: object): void {
    this.#changes[t]?.(d as never);
  }

  #member(
    member: { readonly user: { readonly id: string }; readonly roles: readonly string[] } | undefined,
  ): void {
    if (member?.user.id === this.#userId) this.ownRoles = member.roles;
  }

  readonly #changes: Record<string, (d: never) => void> = {
    GUILD_UPDATE: ({ name }: Named) => {
      this.name = name ?? '';
    },
    CHANNEL_CREATE: ({ id, name }: Named) => this.channels.set(id, name),
    CHANNEL_UPDATE: ({ id, name }: Named) => this.channels.set(id, name),
    CHANNEL_DELETE: ({ id }: Named) => this.channels.delete(id),
    GUILD_ROLE_CREATE: ({ role }: { role: Named }) => this.roles.set(role.id, role.name),
    GUILD_ROLE_UPDATE: ({ role }: { role: Named }) => this.roles.set(role.id, role.name),
    GUILD_ROLE_DELETE: ({ role_id }: { role_id: string }) => this.roles.delete(role_id),
    GUILD_MEMBER_UPDATE: (member: never) => this.#member(member),
    GUILD_MEMBER_REMOVE: ({ user }: { user: { id: string } }) => {
      this.presences.delete(user.id);
      this.voice.delete(user.id);
    },
    PRESENCE_UPDATE: ({ user, status }: { user: { id: string }; status: string }) => {
      if (status === 'offline') this.presences.delete(user.id);
      else this.presences.set(user.id, status);
    },
    VOICE_STATE_UPDATE: ({ user_id, channel_id }: Voice) => {
      if (channel_id) this.voice.set(user_id, channel_id);
      else this.voice.delete(user_id);
    },
  };
}
