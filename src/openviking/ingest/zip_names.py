"""The encoding of the file names in a zip that does not say it.

There are few bytes to go by, so what is asked is not whether they could be an encoding but whether the characters
are those that names in it are made of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from openviking.ingest.decode import codec, decode

DOS: Final = "cp437"
"""The code page of DOS, in which Western names come."""

_WESTERN: Final = ("windows-1252", "windows-1250", "windows-1254", "windows-1257", "iso-8859")
_FREQUENT: Final = 1.0
_COMMON: Final = 0.3
_ENOUGH: Final = 0.5
_SAMPLE_NAMES: Final = 2_000
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_LATIN_BESIDE: Final = re.compile(r"[A-Za-z]")

_SIMPLIFIED: Final = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同"
    "现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最"
    "重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入"
    "几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼"
    "书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运项档图片照议纪要"
    "简历介附视频音乐课业作测试册版夹载备份申请知划总方案财票章退见旅客户订单价费税账客服培训考核招聘采购库存销售营合同协签审批附录模板样例参考资料"
)
_TRADITIONAL: Final = frozenset(
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同"
    "現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最"
    "重並物手應戰向頭文體政美相見被利什二等產或新己制身果加西斯月話合回特代內信表化老給世位次度門任常先海通教兒原東聲提立及比員解水名真論處走義各入"
    "幾口認條平系氣題活爾更別打女變四神總何電數安少報才結反受目太量再感建務做接必場件計管期市直德資命山金指克許統區保至隊形社便空決治展馬科司五基眼"
    "書非則聽白卻界達光放強即像難且權思王象完設式色路記南品住告類求據程北邊死張該交規萬取拉格望覺術領共確傳師觀清今切院讓識候帶導爭運專案檔圖片照議"
    "紀錄要簡歷介附視頻音樂課業作測試冊版夾載備份申請知劃總財票章退旅客戶訂單價費稅帳服培訓考核招聘採購庫存銷售營合同協簽審批範例參料"
)
_HANGUL: Final = frozenset(
    "이다는에의가을를고하지은로한사기도어시대자리인그아나서일정수보해구장제주부전상과라원만스조들있우여연성동영국와소으경공비요무마유당신교미안학중"
    "면적관모실산거계생물방단개분식용위세업오내진간발문화회재행번작표각명게트파프토드카테터크니르치임레베메네데페젝결약첨음악강획견력추회록최종초차목"
    "록통청확증새폴더운로드합격설양참팀매출입금액집체험"
)
_CYRILLIC_LETTERS: Final = frozenset("абвгдежзийклмнопрстуфхцчшщъыьэюяёАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЁ")
_CYRILLIC_VOWELS: Final = frozenset("аеёиоуыэюя")


def names_codec(names: Sequence[bytes]) -> str:
    """The codec of ``names``, none of them ASCII, which come from one archive and so are in the same encoding.

    UTF-8 if they are that; else the East Asian encoding, or the Cyrillic one of DOS, of whose frequent characters
    they consist; else what `decode` takes them for; else `DOS`. Some of very many names stand for all.
    """
    joined = b"\n".join(names[:_SAMPLE_NAMES])
    try:
        joined.decode()
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    scores = [(_score(joined, name, weight), name) for name, weight in _WEIGHTS.items()]
    score, best = max(scores, key=lambda scored: scored[0])
    if score >= _ENOUGH:
        return best
    found = decode(joined)
    if found is None or found[1].startswith(_WESTERN):
        return DOS
    name = codec(found[1])
    return name if _score(joined, name, _WEIGHTS.get(name, _any)) > 0 else DOS


def _score(joined: bytes, name: str, weight: Callable[[str], float]) -> float:
    """How well ``joined`` reads in an encoding, at most 1: the mean weight of its characters beyond ASCII.

    A single one within a Latin word counts as none: there it is an accented letter of another encoding.
    """
    try:
        text = joined.decode(name)
    except UnicodeDecodeError:
        return 0.0
    total = count = 0.0
    for run in _BEYOND_ASCII.finditer(text):
        beside = text[max(run.start() - 1, 0) : run.start()] + text[run.end() : run.end() + 1]
        count += len(run[0])
        if len(run[0]) > 1 or not _LATIN_BESIDE.search(beside):
            total += sum(map(weight, run[0]))
    return total / count if count else 0.0


def _any(_: str) -> float:
    return 1.0


def _gb18030(char: str) -> float:
    if char in _SIMPLIFIED:
        return _FREQUENT
    code = char.encode("gb18030")
    return _COMMON if len(code) == 2 and (0xB0 <= code[0] <= 0xD7 or code[0] in {0xA1, 0xA3}) and code[1] > 0xA0 else -1


def _big5(char: str) -> float:
    if char in _TRADITIONAL:
        return _FREQUENT
    code = char.encode("cp950")
    return _COMMON if len(code) == 2 and 0xA1 <= code[0] <= 0xC6 else -1


def _shift_jis(char: str) -> float:
    if "\u3041" <= char <= "\u3096" or "\u30a1" <= char <= "\u30fc":
        return _FREQUENT
    code = char.encode("cp932")
    return 0.6 if len(code) == 2 and (0x88 <= code[0] <= 0x97 or code[0] == 0x81) else -1


def _euc_kr(char: str) -> float:
    if char in _HANGUL:
        return _FREQUENT
    code = char.encode("cp949")
    return _COMMON if len(code) == 2 and 0xB0 <= code[0] <= 0xC8 and code[1] > 0xA0 else -1


def _cyrillic(char: str) -> float:
    if char not in _CYRILLIC_LETTERS:
        return -1
    # About two letters of five are vowels.
    return 1.2 if char in _CYRILLIC_VOWELS else 0.4 if char.islower() else 0.2


_WEIGHTS: Final[dict[str, Callable[[str], float]]] = {
    "gb18030": _gb18030, "cp932": _shift_jis, "cp949": _euc_kr, "cp950": _big5, "cp866": _cyrillic,
}  # fmt: skip
