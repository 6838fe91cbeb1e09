/** Shows activities in a page: `import { ActivityHost } from 'guildhall/activities'`. */
export type { ConsentRequest } from '../rpc/commands.ts';
export type { ActivityPage } from './commands.ts';
export { ACTIVITY_LAYOUT, ActivityHost, type ActivityHostOptions } from './host.ts';
