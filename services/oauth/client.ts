import { isApplicationId } from '../../protocol/ids.ts';
import type { ApplicationStore } from '../../storage/application/port.ts';
import { hashOf, sameHash } from '../identity/identity.ts';
import type { OAuth } from './ports.ts';

/** Hash that no secret matches; compared when an application has none, so that both cases take as long. */
const NO_SECRET_HASH = hashOf('');

/** Authenticates clients by id and secret. @source RFC 6749, section 2.3 */
export const createClientLookup =
  (applications: Pick<ApplicationStore, 'get' | 'secretHash'>): OAuth['client'] =>
  async (applicationId, secret) => {
    if (!isApplicationId(applicationId)) return null;
    const [application, hash] = await Promise.all([
      applications.get(applicationId),
      applications.secretHash(applicationId),
    ]);
    if (secret === null || secret === '')
      return application?.oauth2?.publicClient ? { application, proved: false } : null;
    const isSame = sameHash(hash ?? NO_SECRET_HASH, hashOf(secret));
    return application && hash !== null && isSame ? { application, proved: true } : null;
  };
