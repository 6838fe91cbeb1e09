import type { UserId } from '../ids.ts';
import { PartialBotIntegration } from './application.ts';
import { AutoModerationRule } from './automod.ts';
import { Thread } from './channel.ts';
import { Command } from './command.ts';
import { ScheduledEvent } from './event.ts';
import {
  anything,
  dict,
  id,
  integer,
  list,
  nullable,
  object,
  optional,
  type Schema,
  text,
  type ValueOf,
} from './schema.ts';
import { User } from './user.ts';
import { Webhook } from './webhook.ts';

const auditLogObjectChange = object(
  {
    key: nullable(text),
    new_value: optional(anything),
    old_value: optional(anything),
  },
  'AuditLogObjectChange',
);

const auditLogEntry = object(
  {
    id: id(),
    action_type: integer,
    user_id: nullable(id<UserId>()),
    target_id: nullable(id()),
    changes: optional(list(auditLogObjectChange)),
    options: optional(dict(text)),
    reason: optional(text),
  },
  'AuditLogEntry',
);

export interface AuditLogEntry extends ValueOf<typeof auditLogEntry> {}
export const AuditLogEntry: Schema<AuditLogEntry> = auditLogEntry;

const auditLog = object(
  {
    audit_log_entries: list(auditLogEntry),
    users: list(User),
    integrations: list(PartialBotIntegration),
    webhooks: list(Webhook),
    guild_scheduled_events: list(ScheduledEvent),
    threads: list(Thread),
    application_commands: list(Command),
    auto_moderation_rules: list(nullable(AutoModerationRule)),
  },
  'AuditLog',
);
export interface AuditLog extends ValueOf<typeof auditLog> {}
export const AuditLog: Schema<AuditLog> = auditLog;
