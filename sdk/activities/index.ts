/** Shows activities in a page: `import { ActivityHost } from 'guildhall/activities'`. */
export type { ActivityPage, ConsentRequest } from './commands.ts';
export { ACTIVITY_LAYOUT, ActivityHost, type ActivityHostOptions } from './host.ts';
