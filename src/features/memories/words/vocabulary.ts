/**
 * Words that mean the same, in software and in other work. Each word, also in its English forms, finds the others of its
 * group. For a name of several words, a memory must have all of them but stop words, and ranks higher if it has them
 * side by side.
 */
export const SYNONYMS: ReadonlyArray<readonly string[]> = [
  ["k8s", "kubernetes"],
  ["pg", "postgres", "postgresql", "psql"],
  ["db", "dbs", "database"],
  ["auth", "authentication", "authorization", "authn", "authz"],
  ["repo", "repos", "repository"],
  ["gh", "github"],
  ["env", "envs", "environment"],
  ["config", "cfg", "configuration", "conf"],
  ["js", "javascript"],
  ["yaml", "yml"],
  ["jpg", "jpeg"],
  ["htm", "html"],
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
  // The French noun and its verb.
  ["connexion", "connecter", "connection"],
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
  ["temp", "temperature"],
  ["tz", "timezone", "time zone"],
  ["tbl", "table"],
  ["img", "image"],
  ["addr", "address"],
  ["acct", "account"],
  ["mgmt", "management"],
  ["qty", "quantity"],
  ["info", "information"],
  ["max", "maximum"],
  ["min", "minimum"],
  ["num", "number"],
  ["avg", "average"],
  ["bg", "background"],
  ["btn", "button"],
  ["cpu", "processor"],
  ["ctx", "context"],
  ["dst", "destination"],
  ["dupe", "dupes", "duplicate"],
  ["grp", "group"],
  ["lvl", "level"],
  ["mgr", "manager"],
  ["mtg", "meeting"],
  ["os", "operating system"],
  ["pct", "percent"],
  ["regex", "regexp", "regular expression"],
  ["src", "source"],
  ["ssl", "tls"],
  ["wifi", "wlan"],
  ["ms", "millisecond"],
  ["sec", "second"],
  // The micro sign, as `fold` writes it.
  ...["a", "f", "g", "h", "l", "m", "s", "v", "w"].map((unit) => [`u${unit}`, `μ${unit}`]),
  ["acl", "access control list"],
  ["adr", "architecture decision record"],
  ["aot", "ahead of time"],
  ["arr", "annual recurring revenue"],
  ["ast", "abstract syntax tree"],
  ["aws", "amazon web services"],
  ["cdc", "change data capture"],
  ["cdn", "content delivery network"],
  ["cac", "customer acquisition cost"],
  ["cli", "command line"],
  ["cls", "cumulative layout shift"],
  ["cms", "content management system"],
  ["cors", "cross origin resource sharing"],
  ["cqrs", "command query responsibility segregation"],
  ["crd", "custom resource definition"],
  ["crm", "customer relationship management"],
  ["crud", "create read update delete"],
  ["csrf", "cross site request forgery"],
  ["csv", "comma separated"],
  ["dag", "directed acyclic graph"],
  ["dau", "daily active users"],
  ["ddd", "domain driven design"],
  ["ddos", "distributed denial of service"],
  ["dlq", "dead letter queue"],
  ["dpa", "data processing agreement"],
  ["dr", "disaster recovery"],
  ["dsar", "data subject access request"],
  ["dto", "data transfer object"],
  ["e2e", "end to end"],
  ["eod", "end of day"],
  ["eol", "end of life"],
  ["eta", "estimated time of arrival"],
  ["etl", "extract transform load"],
  ["fps", "frames per second"],
  ["gcp", "google cloud"],
  ["gdpr", "dsgvo", "general data protection regulation"],
  ["gha", "github actions"],
  ["gui", "graphical user interface"],
  ["ha", "high availability"],
  ["hmr", "hot module replacement", "hot reload"],
  ["hpa", "horizontal pod autoscaler"],
  ["iac", "infrastructure as code"],
  ["iam", "identity access management"],
  ["ide", "integrated development environment"],
  ["idp", "identity provider"],
  ["ipc", "inter process communication"],
  ["jit", "just in time"],
  ["jwt", "json web token"],
  ["kpi", "key performance indicator"],
  ["kyc", "know your customer"],
  ["lcp", "largest contentful paint"],
  ["llm", "large language model"],
  ["lru", "least recently used"],
  ["lts", "long term support"],
  ["mau", "monthly active users"],
  ["mrr", "monthly recurring revenue"],
  ["mtls", "mutual tls"],
  ["mttr", "mean time to recovery"],
  ["mvc", "model view controller"],
  ["mvp", "minimum viable product"],
  ["nda", "non disclosure agreement"],
  ["npe", "nullpointerexception", "null pointer exception"],
  ["nps", "net promoter score"],
  ["oidc", "openid connect"],
  ["okr", "objectives and key results"],
  ["orm", "object relational mapping"],
  ["ota", "over the air"],
  ["otp", "one time password"],
  ["pii", "personally identifiable information"],
  ["pitr", "point in time recovery"],
  ["poc", "proof of concept"],
  ["pto", "paid time off"],
  ["pvc", "persistent volume claim"],
  ["pwa", "progressive web app"],
  ["qa", "quality assurance"],
  ["qps", "queries per second"],
  ["rag", "retrieval augmented generation"],
  ["rca", "root cause analysis"],
  ["rfc", "request for comments"],
  ["rfp", "request for proposal"],
  ["roi", "return on investment"],
  ["rpc", "remote procedure call"],
  ["rpo", "recovery point objective"],
  ["rps", "requests per second"],
  ["rto", "recovery time objective"],
  ["rtt", "round trip time"],
  ["sbom", "software bill of materials"],
  ["sdk", "software development kit"],
  ["seo", "search engine optimization"],
  ["sla", "service level agreement"],
  ["sli", "service level indicator"],
  ["slo", "service level objective"],
  ["spa", "single page application"],
  ["ssg", "static site generation"],
  ["ssr", "server side rendering"],
  ["ssrf", "server side request forgery"],
  ["tco", "total cost of ownership"],
  ["tdd", "test driven development"],
  ["ttfb", "time to first byte"],
  ["ttl", "time to live"],
  ["uat", "user acceptance testing"],
  ["ux", "user experience"],
  ["vpc", "virtual private cloud"],
  ["vpn", "virtual private network"],
  ["waf", "web application firewall"],
  ["wal", "write ahead log"],
  ["wfh", "work from home"],
  ["wip", "work in progress"],
  ["xss", "cross site scripting"],
  ["aml", "anti money laundering"],
  ["bom", "bill of materials"],
  ["bp", "blood pressure"],
  ["cpa", "cost per acquisition"],
  ["cpc", "cost per click"],
  ["cpd", "continuing professional development"],
  ["cpl", "cost per lead"],
  ["cpm", "cost per mille", "cost per thousand"],
  ["ctr", "click through rate"],
  ["cw", "calendar week"],
  ["dob", "date of birth"],
  ["ecg", "ekg", "electrocardiogram"],
  ["ehr", "electronic health record"],
  ["erp", "enterprise resource planning"],
  ["exw", "ex works"],
  ["fefo", "first expired first out"],
  ["fifo", "first in first out"],
  ["gp", "general practitioner"],
  ["hr", "human resources"],
  ["hvac", "heating ventilation air conditioning"],
  ["ltv", "clv", "lifetime value"],
  ["moq", "minimum order quantity"],
  ["ooh", "out of home"],
  ["otif", "on time in full"],
  ["po", "purchase order"],
  ["poa", "power of attorney"],
  ["pos", "point of sale"],
  ["ppe", "personal protective equipment"],
  ["roas", "return on ad spend"],
  ["sds", "msds", "safety data sheet"],
  ["sku", "stock keeping unit"],
  ["sow", "statement of work"],
  ["vat", "value added tax"],
  ["wms", "warehouse management system"],
  ["q1", "first quarter"],
  ["q2", "second quarter"],
  ["q3", "third quarter"],
  ["q4", "fourth quarter"],
  ["mon", "monday"],
  ["tue", "tues", "tuesday"],
  ["wed", "weds", "wednesday"],
  ["thu", "thur", "thurs", "thursday"],
  ["fri", "friday"],
  ["jan", "january"],
  ["feb", "february"],
  ["mar", "march"],
  ["apr", "april"],
  ["jun", "june"],
  ["jul", "july"],
  ["aug", "august"],
  ["sep", "sept", "september"],
  ["oct", "october"],
  ["nov", "november"],
  ["dec", "december"],
  ["ad", "ads", "advert", "advertisement"],
  ["appt", "appts", "appointment"],
  ["approx", "approximately"],
  ["bday", "birthday"],
  ["dept", "depts", "department"],
  ["exam", "examination"],
  ["ext", "extension"],
  ["fridge", "refrigerator"],
  ["maths", "math", "mathematics"],
  ["prefab", "prefabricated"],
  ["xmas", "christmas"],
  ["hrs", "hour"],
  ["wk", "wks", "week"],
  ["yr", "yrs", "year"],
  ["tyre", "tire"],
  ["dedup", "dedupe", "deduplicate", "deduplication"],
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
  ["typo", "misspelling", "misspelt", "misspelled", "misprint"],
  ["outage", "downtime"],
  ["alert", "alarm"],
  ["postmortem", "retrospective"],
  ["email", "mail"],
  ["spam", "junk"],
  ["photo", "picture"],
  ["popup", "modal", "dialog"],
  ["login", "signin", "log in", "sign in"],
  ["logout", "signout", "log out", "sign out"],
  ["signup", "sign up"],
  ["invoice", "bill"],
  ["phone", "mobile", "smartphone"],
  ["colleague", "coworker", "teammate"],
  ["analyze", "analyse"],
  ["org", "orgs", "organization", "organisation"],
  ["behavior", "behaviour"],
  ["color", "colour"],
  ["favorite", "favourite"],
  ["canceled", "cancelled"],
  ["catalog", "catalogue"],
  ["center", "centre"],
  ["gray", "grey"],
  ["license", "licence"],
];

/** Short forms that are mostly another word, or stand for two: for the long form, they count like initials. */
export const AMBIGUOUS: ReadonlySet<string> = new Set(
  "ad apr bom ctr cw dec es ext go gp jan mar mon oct pass po pos sds sec sep temp wed".split(" "),
);

/** Types of memories that a word may mean besides those that `memory-types.ts` knows. */
export const TYPES: ReadonlyMap<string, string> = new Map([
  ["bug", "error"],
  ["issue", "error"],
  ["fix", "solution"],
  ["bugfix", "solution"],
  ["hotfix", "solution"],
  ["solution", "fix"],
  ["pattern", "code_pattern"],
  ["tech", "technology"],
]);

/** Words that ask for memories of a type, as in "latest decisions", without a subject. */
export const LISTING: ReadonlySet<string> = new Set(
  "list latest newest recent last current known open new old active important".split(" "),
);

/**
 * Forms of English verbs and nouns, and nouns made of verbs, that stemming keeps apart: each finds the others of its
 * group. The first is a verb or a noun with regular forms besides. Forms that are usually another word ("left", "bit",
 * "bound") are not among them.
 */
export const IRREGULAR_FORMS = `
  arise arose arisen; become became; begin began begun; bend bent; blow blew blown; break broke broken; bring brought;
  build built; rebuild rebuilt; burn burnt; buy bought; catch caught; choose chose chosen choice; come came; deal dealt;
  draw drew drawn; redraw redrew redrawn; drive drove driven driver;
  eat ate eaten; fall fell fallen; feed fed; feel felt;
  fight fought; find found; fly flew flown; forbid forbade forbidden; foresee foresaw foreseen; forget forgot forgotten;
  freeze froze frozen freezer; unfreeze unfroze unfrozen; give gave given; grow grew grown growth; hang hung;
  hear heard;
  hide hid hidden; hold held; withhold withheld; keep kept; know knew known; lead led; learn learnt; lend lent;
  lose lost loss losses; make made; mean meant; meet met; mislead misled; mistake mistook mistaken; outgrow outgrew outgrown;
  override overrode overridden; oversee oversaw overseen; overwrite overwrote overwritten; pay paid payment;
  repay repaid repayment;
  prove proven proof; ride rode ridden; rise risen; run ran; rerun reran; seek sought; sell sold sale; resell resold;
  send sent sender; resend resent; shake shook shaken; show shown; shrink shrank shrunk; sink sank sunk; sleep slept;
  slide slid;
  speak spoke spoken speech; spell spelt; spend spent; spill spilt; spin spun; stand stood;
  steal stole stolen; stick stuck;
  strike struck; swear swore sworn; sweep swept; swing swung; take took taken; teach taught; tear torn; think thought;
  throw threw thrown; rethrow rethrew rethrown; undergo underwent undergone; understand understood;
  misunderstand misunderstood; undo undid undone; wake woke woken; wear wore worn; weave wove woven; win won;
  withdraw withdrew withdrawn; withstand withstood; write wrote written; rewrite rewrote rewritten;
  child children; man men; thief thieves theft; woman women; mouse mice; foot feet; tooth teeth; half halves;
  shelf shelves;
  criterion criteria; phenomenon phenomena; schema schemata; matrix matrices; axis axes; crisis crises;
  hypothesis hypotheses; parenthesis parentheses; diagnose diagnosis diagnoses; synthesis syntheses;
  analyze analyse analysis analyses;
  acquire acquisition; advise advice; behave behavior behaviour; believe belief; cv cvs; db dbs; pc pcs; pr prs;
  tv tvs; vm vms; leak leakage; supply supplier; complain complaint; comply compliance compliant; constrain constraint;
  detain detention; penalize penalise penalty; prescribe prescription; receive receipt; restrain restraint;
  weigh weight; admit admission; argue argument; assume assumption; close closure; collide collision;
  compare comparison; conclude conclusion; consume consumption; decide decision; deduce deduction;
  defend defense defence; define definition; deny denial; describe description; destroy destruction;
  disclose disclosure; divide division; erase erasure; erode erosion; evolve evolution; exclude exclusion;
  expand expansion; explain explanation; explode explosion; expose exposure; extend extension; fail failure;
  include inclusion; intrude intrusion; introduce introduction; invert inversion; invoke invocation;
  maintain maintenance; occur occurrence; omit omission; permit permission; recognize recognise recognition;
  recur recurrence; reduce reduction; repeat repetition; reproduce reproduction; resolve resolution; respond response;
  resume resumption; retain retention; revoke revocation; solve solution; submit submission; subscribe subscription;
  succeed success; suspend suspension; transcribe transcription; transmit transmission;
  act action; react reaction; agree agreement; deliver delivery; discover discovery;
  publish publication; recover recovery; rely reliance; settle settlement; ship shipment; sign signature; store storage;
  treat treatment; vary variation variance; accurate accuracy; frequent frequency; stable stability; urgent urgency;
  deep depth; high height; long length; strong strength; wide width;
  edit editor; fetch fetcher; lint linter; load loader; log logger; parse parser; poll poller; route router;
  wrap wrapper; appendix appendices; knife knives; life lives; wolf wolves
`;

/** The same where the first form has the stem of another word, such as "indic" of "indicate". */
const FORMS_AS_WRITTEN =
  "indices index; vertices vertex; conversion convert; conversions convert; person people; persons people";

/** Numbers in digits and as words. */
const NUMBERS = `
  1 one; 2 two; 3 three; 4 four; 5 five; 6 six; 7 seven; 8 eight; 9 nine; 10 ten; 11 eleven; 12 twelve; 13 thirteen;
  14 fourteen; 15 fifteen; 16 sixteen; 17 seventeen; 18 eighteen; 19 nineteen; 20 twenty; 30 thirty; 40 forty; 50 fifty;
  60 sixty; 70 seventy; 80 eighty; 90 ninety; 100 hundred; 1000 thousand; 1st first; 2nd second; 3rd third`;

const splitGroups = (list: string): string[][] => list.split(";").map((group) => group.trim().split(/\s+/));

/** The regular forms of a verb or a noun, and others that nobody writes. */
const listRegularForms = (word: string): string[] => {
  const stem = word.replace(/e$/, "");
  return [
    word,
    `${word}s`,
    `${word}es`,
    `${word.replace(/y$/, "i")}es`,
    `${stem}ed`,
    `${stem}ing`,
    `${word}${word.slice(-1)}ing`,
  ];
};

/** For each form of such a word, the others that are not regular; for each number, the other way to write it. */
export const FORMS: ReadonlyMap<string, readonly string[]> = new Map<string, string[]>([
  ...splitGroups(IRREGULAR_FORMS).flatMap(([base = "", ...others]) => [
    ...listRegularForms(base).map((form): [string, string[]] => [form, others]),
    ...others.flatMap((form) =>
      [form, `${form}s`, form.replace(/y$/, "ies")].map((number): [string, string[]] => [
        number,
        [base, ...others.filter((other) => other !== form)],
      ]),
    ),
  ]),
  ...splitGroups(NUMBERS).flatMap(([digits = "", word = ""]): [string, string[]][] => [
    [digits, [word]],
    [word, [digits]],
  ]),
  ...splitGroups(FORMS_AS_WRITTEN).map(([form = "", ...others]): [string, string[]] => [form, others]),
]);

/** For each form of such a word, those that are looked up without stemming. */
export const WRITTEN_FORMS: ReadonlyMap<string, readonly string[]> = splitGroups(FORMS_AS_WRITTEN).reduce(
  (all, [form = "", base = ""]) => {
    for (const one of listRegularForms(base)) all.set(one, [...(all.get(one) ?? []), form]);
    return all;
  },
  new Map<string, string[]>(),
);

/** Words behind a verb that make a noun with it: "set up" and "setup". */
export const PARTICLES = "up|out|in|off|over|down|back";

/** Words that ask for an amount together with the question word before them. */
export const AMOUNTS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["how", new Set(["long", "many", "much", "often", "far", "old", "big", "large"])],
  ["wie", new Set(["lange", "viel", "viele", "oft", "weit"])],
]);
