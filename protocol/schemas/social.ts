import type { ApplicationId, UserId } from '../ids.ts';
import { flag, id, integer, nullable, object, type Schema, text, time, type ValueOf } from './schema.ts';
import { User } from './user.ts';

/** @source https://docs.discord.food/resources/relationships#relationship-structure */
const relationship = object(
  {
    id: id<UserId>(),
    type: integer,
    user: User,
    nickname: nullable(text),
    since: time,
    is_spam_request: flag,
    stranger_request: flag,
    user_ignored: flag,
    origin_application_id: nullable(id<ApplicationId>()),
  },
  'Relationship',
);
export interface Relationship extends ValueOf<typeof relationship> {}
export const Relationship: Schema<Relationship> = relationship;

const gameRelationship = object(
  {
    id: id<UserId>(),
    application_id: id<ApplicationId>(),
    type: integer,
    user: User,
    since: time,
    dm_access_type: integer,
    user_id: id<UserId>(),
  },
  'GameRelationship',
);
export interface GameRelationship extends ValueOf<typeof gameRelationship> {}
export const GameRelationship: Schema<GameRelationship> = gameRelationship;
