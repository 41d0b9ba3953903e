import { type Piece, pieceAsWritten, pieceToStem } from "./piece.js";

/**
 * Names that are written in several ways, one group a line: Japanese words with their endings in kana and without, loan
 * words in Latin letters, kana and hangul, Chinese words of the mainland and of Taiwan. In kana without the long vowel at
 * the end, which is found anyway; not those that are the end or the beginning of many others, as "ログ" of "ブログ".
 */
const GROUPS = `
  申し込み 申込み 申込; 引っ越し 引越し 引越; 見積もり 見積り 見積; 問い合わせ 問合わせ 問合せ; 支払い 支払; 手続き 手続;
  打ち合わせ 打合わせ 打ち合せ 打合せ; 取り消し 取消し 取消; 受け付け 受付け 受付; 切り替え 切替え 切替; 締め切り 締切り 締切;
  読み込み 読込み 読込; 書き込み 書込み 書込; 振り込み 振込み 振込; 払い戻し 払戻し 払戻; 立ち上げ 立上げ; 割り当て 割当て 割当;
  呼び出し 呼出し 呼出; 組み込み 組込み 組込; 埋め込み 埋込み 埋込; 絞り込み 絞込み; 繰り返し 繰返し; 並び替え 並替え;
  取り扱い 取扱い 取扱; 取り引き 取引き 取引; 売り上げ 売上げ 売上; 貸し出し 貸出し 貸出; 差し戻し 差戻し; 入れ替え 入替え;
  貼り付け 貼付け 貼付; 組み合わせ 組み合せ 組合せ; 値引き 値引; 引き継ぎ 引継ぎ 引継; 受け取り 受取り 受取; 乗り換え 乗換え;
  server サーバ 서버; user ユーザ; password パスワード 패스워드; login ログイン 로그인; logout ログアウト 로그아웃;
  error エラー 에러; file ファイル 파일; folder フォルダ 폴더; database データベース 데이터베이스; backup バックアップ 백업;
  cache キャッシュ 캐시; memory メモリ 메모리; version バージョン ヴァージョン 버전; release リリース 릴리스 릴리즈; deploy デプロイ;
  interface インターフェース インターフェイス 인터페이스; computer コンピュータ 컴퓨터; network ネットワーク 네트워크;
  project プロジェクト 프로젝트; cluster クラスタ 클러스터; container コンテナ 컨테이너; token トークン 토큰;
  session セッション 세션; cookie クッキー 쿠키; browser ブラウザ 브라우저; printer プリンタ 프린터; query クエリ 쿼리;
  schema スキーマ 스키마; index インデックス 인덱스; table テーブル 테이블; message メッセージ 메시지 메세지; queue キュー;
  service サービス 서비스; system システム 시스템; security セキュリティ; account アカウント; upload アップロード 업로드;
  download ダウンロード 다운로드; install インストール; upgrade アップグレード 업그레이드; update アップデート 업데이트;
  review レビュー 리뷰; branch ブランチ 브랜치; merge マージ; commit コミット 커밋; alert アラート; dashboard ダッシュボード 대시보드;
  script スクリプト 스크립트; library ライブラリ 라이브러리; framework フレームワーク 프레임워크; frontend フロントエンド 프론트엔드;
  backend バックエンド 백엔드; proxy プロキシ 프록시; batch バッチ; thread スレッド 스레드; timeout タイムアウト 타임아웃;
  retry リトライ; migration マイグレーション 마이그레이션; refactoring リファクタリング 리팩토링 리팩터링; debug デバッグ 디버그;
  monitoring モニタリング 모니터링; website ウェブサイト ウエブサイト 웹사이트; document ドキュメント; template テンプレート 템플릿;
  plugin プラグイン 플러그인; parameter パラメータ 파라미터; meeting ミーティング 미팅; schedule スケジュール; support サポート;
  client クライアント 클라이언트; cloud クラウド 클라우드; storage ストレージ 스토리지; software ソフトウェア ソフトウエア 소프트웨어;
  hardware ハードウェア ハードウエア 하드웨어; window ウィンドウ ウインドウ; docker ドッカー 도커; kubernetes クバネティス 쿠버네티스;
  登录 登陆 登入 登錄 登陸; 账号 帐号 帳號; 账户 帐户 帳戶; 服务器 伺服器; 数据库 资料库 資料庫; 软件 软体 軟體; 网络 网路 網路;
  缓存 快取; 默认 预设 預設; 打印 列印; 视频 影片; 程序 程式; 屏幕 荧幕 螢幕; 鼠标 滑鼠; 硬盘 硬碟
`;

/** For each of these names, the others of its group. */
const WRITINGS: ReadonlyMap<string, readonly string[]> = new Map(
  GROUPS.split(";").flatMap((group) => {
    const names = group.trim().split(/\s+/);
    return names.map((name) => [name, names.filter((other) => other !== name)] as const);
  }),
);

/** The names of scripts without spaces, the longest first. */
const UNSPACED_NAMES = [...WRITINGS.keys()]
  .filter((name) => !/^\w/.test(name))
  .toSorted((one, other) => other.length - one.length);
const ANY_NAME = new RegExp(UNSPACED_NAMES.join("|"), "gu");

/** The names that a run of characters has, with the places where they begin. */
export const writingsIn = (run: string): { readonly name: string; readonly start: number }[] =>
  Array.from(run.matchAll(ANY_NAME), ({ 0: name, index }) => ({ name, start: index }));

/** The other ways to write a name, which may be an English plural, each by the words that the index has it as. */
export const otherWritings = (name: string): Piece[][] =>
  (WRITINGS.get(name) ?? WRITINGS.get(name.replace(/s$/, "")) ?? []).map(piecesOf);

const piecesOf = (name: string): Piece[] =>
  /^\w/.test(name) ? [pieceToStem(name)] : pairsOf([...name]).map(pieceAsWritten);

const pairsOf = (characters: readonly string[]): string[] =>
  characters.slice(1).map((character, place) => `${characters[place]}${character}`);

const SCRIPTS = [/^\w/, /\p{Script=Hangul}/u];
const scriptOf = (name: string): number => SCRIPTS.findIndex((script) => script.test(name));

/** The other ways to write names: in the same script they mean the same, in another one they are other forms. */
export function writingsAt(names: ReadonlyArray<{ readonly name: string }>): {
  readonly forms: Piece[][];
  readonly synonyms: Piece[][];
} {
  const all = names.flatMap(({ name }) =>
    (WRITINGS.get(name) ?? []).map((other) => ({
      pieces: piecesOf(other),
      isSame: scriptOf(name) === scriptOf(other),
    })),
  );
  return {
    forms: all.filter(({ isSame }) => !isSame).map(({ pieces }) => pieces),
    synonyms: all.filter(({ isSame }) => isSame).map(({ pieces }) => pieces),
  };
}
