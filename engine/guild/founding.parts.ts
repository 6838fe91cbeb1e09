import { type APIRole, NO_FLAGS } from '../../protocol/objects.ts';
import type { GuildChannel } from './guild.ts';

/** A channel of the fields of its type, which only the wire's types tell apart. */
export const channelFrom = (fields: object): GuildChannel => fields as unknown as GuildChannel;

/** A role that no integration manages, with every field of the wire. */
export const newRole = (given: Pick<APIRole, 'id' | 'name' | 'permissions'> & Partial<APIRole>): APIRole => ({
  color: 0,
  colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
  hoist: false,
  icon: null,
  unicode_emoji: null,
  position: 0,
  mentionable: false,
  ...given,
  managed: false,
  flags: NO_FLAGS,
});
