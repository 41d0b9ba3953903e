/**
 * Words that mean the same to people who write software; each finds the others, and so do its English forms. A name of
 * several words needs all of them.
 */
export const SYNONYMS: ReadonlyArray<readonly string[]> = [
  ["k8s", "kubernetes"],
  ["pg", "postgres", "postgresql", "psql"],
  ["db", "dbs", "database"],
  ["auth", "authentication", "authorization", "authn", "authz"],
  ["repo", "repos", "repository"],
  ["env", "envs", "environment"],
  ["config", "cfg", "configuration", "conf"],
  ["js", "javascript"],
  ["ts", "typescript"],
  ["py", "python"],
  ["rb", "ruby"],
  ["golang", "go"],
  ["tf", "terraform"],
  ["gql", "graphql"],
  ["ci", "continuous integration", "pipeline"],
  ["cd", "continuous deployment", "continuous delivery"],
  ["pr", "prs", "pull request"],
  ["mr", "merge request"],
  ["dev", "development", "developer"],
  ["prod", "production"],
  ["stg", "staging"],
  ["perf", "performance"],
  ["sec", "security"],
  ["infra", "infrastructure"],
  ["obs", "o11y", "observability"],
  ["i18n", "internationalization", "internationalisation"],
  ["l10n", "localization", "localisation"],
  ["a11y", "accessibility"],
  ["msg", "msgs", "message"],
  ["req", "reqs", "request"],
  ["res", "resp", "response"],
  ["err", "errs", "error"],
  ["param", "params", "parameter"],
  ["arg", "args", "argument"],
  ["var", "vars", "variable"],
  ["func", "fn", "function"],
  ["deps", "dep", "dependency"],
  ["pkg", "pkgs", "package"],
  ["lib", "libs", "library"],
  ["dir", "dirs", "directory", "folder"],
  ["doc", "docs", "documentation"],
  ["app", "apps", "application"],
  ["admin", "administrator"],
  ["sync", "synchronization", "synchronisation"],
  ["async", "asynchronous"],
  ["mem", "ram", "memory"],
  ["conn", "conns", "connection"],
  ["tx", "txn", "transaction"],
  ["ns", "namespace"],
  ["svc", "service"],
  ["srv", "server"],
  ["lb", "load balancer"],
  ["cert", "certs", "certificate"],
  ["creds", "credential"],
  ["pw", "pwd", "passwd", "password"],
  ["pass", "passphrase"],
  ["mq", "message queue"],
  ["es", "elasticsearch"],
  ["otel", "opentelemetry"],
  ["prom", "prometheus"],
  ["vm", "virtual machine"],
  ["cron", "cronjob"],
  ["oom", "out of memory"],
  ["gc", "garbage collection", "garbage collector"],
  ["fe", "frontend", "front end"],
  ["be", "backend", "back end"],
  ["ui", "user interface"],
  ["sso", "single sign on"],
  ["2fa", "mfa", "two factor"],
  ["rbac", "role based access"],
  ["rls", "row level security"],
  ["csp", "content security policy"],
  ["fk", "foreign key"],
  ["pk", "primary key"],
  ["idx", "index"],
  ["migr", "migration"],
  ["stmt", "statement"],
  ["cmd", "cmds", "command"],
  ["impl", "implementation"],
  ["spec", "specification"],
  ["temp", "tmp", "temporary"],
  ["info", "information"],
  ["max", "maximum"],
  ["min", "minimum"],
  ["num", "number"],
  ["ms", "millisecond"],
  ["sec", "second"],
  ["delete", "remove", "erase"],
  ["undo", "revert", "rollback", "roll back"],
  ["stale", "outdated", "obsolete"],
  ["slow", "sluggish"],
  ["freeze", "hang", "unresponsive"],
  ["kill", "terminate"],
  ["quit", "exit"],
  ["fetch", "retrieve"],
  ["upgrade", "bump"],
  ["throttle", "rate limit"],
  ["bug", "bugs", "defect"],
  ["typo", "misspelling", "misspelt", "misspelled"],
  ["outage", "downtime"],
  ["alert", "alarm"],
  ["postmortem", "retrospective"],
  ["email", "mail"],
  ["spam", "junk"],
  ["photo", "picture"],
  ["popup", "modal", "dialog"],
  ["invoice", "bill"],
  ["phone", "mobile", "smartphone"],
  ["colleague", "coworker", "teammate"],
  ["analyze", "analyse"],
  ["authorize", "authorise"],
  ["initialize", "initialise"],
  ["normalize", "normalise"],
  ["optimize", "optimise"],
  ["organize", "organise"],
  ["organization", "organisation"],
  ["serialize", "serialise"],
  ["behavior", "behaviour"],
  ["color", "colour"],
  ["favorite", "favourite"],
  ["canceled", "cancelled"],
  ["catalog", "catalogue"],
  ["center", "centre"],
  ["gray", "grey"],
  ["license", "licence"],
];

/**
 * Words that say nothing about what is looked for. English prepositions and the like that English stemming keeps, words of
 * asking, and question words of the languages that PostgreSQL can stem. Words that are names or words of the trade in
 * English too ("comment", "var", "come", "get", "inside") are not among them.
 */
export const IDLE_WORDS: ReadonlySet<string> = new Set(
  `across already also although among around behind besides beyond could despite might must onto perhaps shall since
   though toward towards unless upon whereas whether within without would yet
   anyone anybody anything everyone everybody everything somebody someone something
   please tell show explain wondering
   wie warum wieso weshalb wann welche welcher welches wofur womit
   pourquoi quand quel quelle quels quelles combien quoi
   como cuando donde porque cual cuales quien cuanto
   perche quando dove quale quali quanto
   onde qual quais quem porque
   waarom wanneer hoe welk
   hvorfor hvordan hvornar hvilken hvad
   varfor nar vilken hvor
   miksi miten milloin missa mika
   miert hogyan mikor melyik hol
   neden nasil nerede hangi
   как почему когда где зачем какой какая какие кто что`
    .split(/\s+/)
    .filter(Boolean),
);

/** Words of amounts that belong to the question word before them. */
export const AMOUNTS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["how", new Set(["long", "many", "much", "often", "far", "old", "big", "large"])],
  ["wie", new Set(["lange", "viel", "viele", "oft", "weit"])],
]);
