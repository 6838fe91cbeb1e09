import type { StoredFact } from '../../storage/ports.ts';
import type { RelationshipStore } from '../../storage/relationship/port.ts';
import type { Settings } from './ports.ts';

interface SettingsPorts {
  readonly relationships: Pick<RelationshipStore, 'settings'>;
  readonly commit: (ownerId: string, facts: readonly StoredFact[]) => Promise<void>;
}

/** Settings of users. Readers load them from the database, so changes are not broadcast. */
export const createUserSettings = ({ relationships, commit }: SettingsPorts): Settings => ({
  get: (userId) => relationships.settings(userId),
  set: (userId, settings) => commit(userId, [{ type: 'userSettingsChanged', userId, settings }]),
});
