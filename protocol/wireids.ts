import type { ApplicationId, BrandedId, ChannelId, GuildId, MessageId, RoleId, UserId } from './ids.ts';

/** A request as a program writes it: every id may be any string. */
export type Written<T> = T extends BrandedId
  ? string
  : T extends readonly (infer Item)[]
    ? readonly Written<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Written<T[Key]> }
      : T;

/** The fields of wire objects that are ids of one kind wherever they occur. */
interface IdFields {
  readonly application_id: ApplicationId;
  readonly channel_id: ChannelId;
  readonly parent_id: ChannelId;
  readonly lobby_id: ChannelId;
  readonly guild_id: GuildId;
  readonly message_id: MessageId;
  readonly last_message_id: MessageId;
  readonly role_id: RoleId;
  readonly owner_id: UserId;
  readonly user_id: UserId;
}

type Brand<Value, Id> = Value extends string ? Id : Value;

/** A wire object whose fields of `IdFields` have brands. `discord-api-types` types every id as a string. */
export type WithIds<T> = T extends unknown
  ? T & {
      readonly [Key in keyof T as Key extends keyof IdFields ? Key : never]: Key extends keyof IdFields
        ? Brand<T[Key], IdFields[Key]>
        : never;
    }
  : never;

/** As `WithIds`, with the object's own id. */
export type WithOwnId<T, Id> = WithIds<T> & { readonly id: Id };
