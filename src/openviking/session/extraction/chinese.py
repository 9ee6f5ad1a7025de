"""Recognises explicit statements in Chinese, simplified and traditional, by the way that they begin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from openviking.session.extraction.claim import Claim, entity, fact_of, first_claim, preference, rules
from openviking.session.extraction.own_words import ELIDED

MAX_CLAIM: Final = 60
"""Characters of what is said; a longer sentence is rather a story."""

_HAN: Final = re.compile("[\u3400-\u9fff]")
_LEADS: Final = re.compile(
    r"(?:(?:对了|對了|其实|其實|嗯+|哦+|噢|另外|还有|還有|顺便说一下|順便說一下|顺便|不对|不對|不是|不|好的?|好吧|你好|您好|嗨|谢谢|謝謝|补充一下|更正|说实话|說實話|总之|而且|所以|但是|不过|不過|但"
    r"|因为|因為|备注|注意|一般来说|平时|平時|个人来说|我说过|我說過)[，,：:！!、\s]*){1,4}"
)
_KEEP: Final = re.compile(
    r"(?:请|請|麻烦|麻煩)?(?:你|您)?(?:帮我|幫我|一定要|要)?(?:记住|記住|记一下|記一下|记下来?|記下來?|牢记|牢記|请记得|請記得)(?:一下|了)?[：:，,\s]*(?P<rest>.+)"
)
_FORGET: Final = re.compile(
    r"(?:请|請|千万|千萬)?(?:别|別|不要)忘(?:记|記)?了?[，,]?(?P<rest>我(?:们|們)?(?:(?!的|们|們)[^，,]{3,}|的.+?(?:是|在|叫).+))"
)
_QUESTION: Final = re.compile(
    r"[?？]\s*[\"”」]?$|(?:吗|嗎|么|麼|呢)$|什么|什麼|谁|誰|哪|怎么|怎麼|为什么|為什麼|几[点岁号]|幾[點歲號]|多少|是不是|是否|有没有|有沒有|会不会|要不要"
)
_MAYBE: Final = re.compile(r"(?:如果|假如|要是|假设|假設|万一|萬一|倘若|若是|即使|只要|除非)")
_POINTING: Final = re.compile(r"(?:这|這|那|你|您|他|她|它|此|该|該|的是|上|了|过|過|自己|一个人$|一點|一点)")
_CLAUSES: Final = re.compile(
    r"[，,；;、](?=(?:请|請)?(?:我(?!们|們|觉得|覺得|想)|叫我|以后|以後|不要再|别再|別再|从现在起|從現在起))"
)
_TAIL: Final = r"(?:[，,。；;].*)?"
_ADVERB: Final = r"(?:一直|真的|非常|特别|特別|很|最|也|都|比较|比較|还是|還是|就|平时|平時|通常|向来|從來|从来|一般|现在|現在|如今)*"


def has_chinese(sentence: str) -> bool:
    """Whether a sentence may be Chinese."""
    return _HAN.search(sentence) is not None


def claims_in(sentence: str) -> Iterator[Claim]:
    """As `english.claims_in`, for Chinese."""
    body = _LEADS.sub("", sentence.strip(), count=1) if _LEADS.match(sentence.strip()) else sentence.strip()
    if _QUESTION.search(body):
        # What is said before a question is none: 我对花生过敏，能吃什么？
        body = re.split("[，,]", body)[0] if re.search("[，,]", body) else ""
        if not body or _QUESTION.search(body):
            return
    body = body.rstrip(' .!?。！？；;~～"”」')
    if kept := _KEEP.fullmatch(body) or _FORGET.fullmatch(body):
        yield from _kept(kept["rest"])
        return
    if _MAYBE.match(body):
        return
    compared = _COMPARED.fullmatch(body)
    if compared is not None and (claim := _comparing(compared)):
        yield claim
        return
    for clause in _CLAUSES.split(body):
        if claim := _claim(clause.strip()):
            yield claim


def _claim(clause: str) -> Claim | None:
    return None if len(clause) > MAX_CLAIM or ELIDED in clause else first_claim(_RULES, clause) or _over(clause)


_OVER: Final = re.compile("我(?:现在|現在|已经|已經)*不(?:再)?(?P<act>(?:住在|在|用|使用).+?)了?")


def _over(clause: str) -> Claim | None:
    """As `english._over`: 我不在腾讯工作了."""
    over = _OVER.fullmatch(clause)
    claim = None if over is None else first_claim(_RULES, f"我{over['act']}")
    if claim is None:
        return None
    value = re.sub("^(?:住在|在|用|使用)|(?:工作|上班|任职|任職)$", "", claim.said)
    return replace(claim, said=f"不再{claim.said}", ends=value)


def _kept(rest: str) -> Iterator[Claim]:
    rest = rest.strip(" ，,：:。！!")
    if (
        len(rest) < 3
        or ELIDED in rest
        or (re.match("(?:这|這|那|你|您|他|她|它)(?:个|個|点|點|一点|些|件|句|了)?", rest) and len(rest) < 8)
    ):
        return
    made = [_claim(clause.strip()) for clause in _CLAUSES.split(rest)]
    if all(claim is not None for claim in made):
        yield from (claim for claim in made if claim is not None)
        return
    subject = re.match(r"(?P<subject>[^是在，,：:。]{2,16})(?:是|在|：|:)", rest)
    yield entity(
        "self" if rest.startswith("我") else "notes", subject["subject"] if subject else rest[:16], f"要记住：{rest}"
    )


def _thing(text: str) -> str:
    thing = re.split("[，,。；;（(]", text)[0].strip(" ~～!！")
    thing = re.sub("(?:的|了)$", "", thing)
    return "" if not 1 <= len(thing) <= 24 or _POINTING.match(thing) else thing


def _liked(thing: str) -> str:
    return re.sub("^(?:吃|喝|看|听|聽|玩|去|用|在|做)(?=..)", "", thing)


def _liking(found: re.Match[str]) -> Claim | None:
    thing = _thing(found["thing"])
    return preference(_liked(thing), f"{found['verb']}{thing}") if thing else None


def _preferring(found: re.Match[str]) -> Claim | None:
    thing = _thing(found["thing"])
    if not thing:
        return None
    pair = re.split("而不是|多过|多於|多于|胜过", thing)
    return preference(" ".join(sorted(pair)) if len(pair) == 2 else _liked(thing), f"更喜欢{thing}")


def _comparing(found: re.Match[str]) -> Claim | None:
    than, thing = _thing(found["than"]), _thing(found["thing"])
    return preference(" ".join(sorted((than, thing))), f"比起{than}，更喜欢{thing}") if than and thing else None


def _habit(found: re.Match[str]) -> Claim | None:
    act = _thing(found["act"])
    if len(act) < 2 or re.match(
        "(?:觉得|覺得|以为|以為|想|知道|忘|认为|認為|感觉|感覺|没|沒|是|有|会|會|在|很|太|好|非常|都很)", act
    ):
        return None
    return preference(re.sub("^(?:都|会|會)", "", act), f"{found['often']}{act}")


_FACT: Final = (
    "(?:名字|姓名|全名|小名|昵称|暱稱|英文名|生日|出生日期|年龄|年齡|身高|体重|體重|血型|邮箱|郵箱|电子邮件|電子郵件|电话|電話|电话号码|手机号|手机号码|手機號碼|地址|家庭地址|住址|职业|職業|工作|职位|職位|公司"
    "|国籍|國籍|母语|母語|家乡|家鄉|老家|籍贯|星座|专业|專業|学校|學校|时区|時區|微信号|微信|QQ号?|用户名|用戶名|鞋码|鞋碼|结婚纪念日|結婚紀念日|紀念日|纪念日|预算|預算|信仰|编辑器|操作系统)"
)
_PETS: Final = "(?:狗|小狗|狗狗|猫|貓|小猫|猫咪|貓咪|鹦鹉|仓鼠|兔子|乌龟|宠物|寵物)"
_KIN: Final = (
    "(?:妻子|老婆|太太|丈夫|老公|先生|女朋友|男朋友|女友|男友|未婚妻|未婚夫|爸爸|父亲|父親|妈妈|媽媽|母亲|母親|儿子|兒子|女儿|女兒|孩子|哥哥|姐姐|弟弟|妹妹|爷爷|爺爺|奶奶|外公|外婆|舅舅|叔叔|阿姨|姑姑"
    "|老板|老闆|上司|经理|經理|同事|老师|老師|导师|導師|医生|醫生|朋友|好朋友|室友|邻居|鄰居|同学|同學)"
)
_VAGUE: Final = re.compile(
    "(?:很|非常|特别|特別|太|最好|真|挺|比较|比較|一个|一個|为了|為了|因为|因為|不|没|沒|想|要|去|让|讓|把|在|对的|對的|错|錯|我|你|他|她|它|个|這個|这|這|那|什么|这样)"
)


def _value(text: str) -> str:
    value = re.split("[，,。；;（(！!]", text)[0].strip(" ~～")
    value = re.sub("(?:了|哦|啊|呀|的)$", "", value)
    return "" if not 1 <= len(value) <= 40 or _VAGUE.match(value) else value


def _favourite(found: re.Match[str]) -> Claim | None:
    thing, value = found["thing"], _value(found["value"])
    return preference(f"最喜欢的{thing}", f"最喜欢的{thing}：{value}") if value and "事" not in thing else None


def _own_fact(found: re.Match[str]) -> Claim | None:
    value = _value(found["value"])
    return entity("self", found["fact"], f"{found['fact']}：{value}") if value else None


def _related_fact(found: re.Match[str]) -> Claim | None:
    who, value = found["who"], _value(found["value"])
    sort = "pet" if re.search(f"{_PETS}$", who) else "person"
    fact = found["fact"] or "名字"
    if found["fact"] is None and "叫" not in found["is"]:
        return None
    return entity(sort, f"{who}的{fact}", f"{who}的{fact}：{value}") if value else None


def _related_age(found: re.Match[str]) -> Claim:
    who = found["who"]
    return entity("pet" if re.search(f"{_PETS}$", who) else "person", f"{who}的年龄", f"{who}的年龄：{found['value']}")


def _using(found: re.Match[str]) -> Claim | None:
    """A tool in use: by its Latin name, or as that of a team."""
    thing = re.match(
        r"(?P<tool>[A-Za-z][A-Za-z0-9_.+# -]*|[^A-Za-z]{2,8}?)(?P<for>沟通|溝通|协作|協作|开发|開發|办公|辦公|部署|写代码|寫代碼)?$",
        found["thing"],
    )
    if thing is None or not (found["team"] or thing["tool"][0].isascii()):
        return None
    return preference(thing["for"] or thing["tool"], f"用{found['thing']}")


def _name(found: re.Match[str]) -> Claim | None:
    value = _value(found["value"])
    if not 2 <= len(value) <= 20 or re.search("[你他她它了着過过去来來吃]", value):
        return None
    return entity("self", "名字", f"名字：{value}")


def _called(found: re.Match[str]) -> Claim | None:
    value = re.sub("(?:就好|就行|就可以|吧|就行了|好了)$", "", _value(found["value"]))
    if not value or len(value) > 12 or re.search("[去来來吃做起了醒]|一[声聲下]", value):
        return None
    return preference("称呼", f"希望被称呼为{value}")


def _living(found: re.Match[str]) -> Claim | None:
    value = _value(found["value"])
    if not value or re.match("(?:家|这|這|那|一起|哪|学校|學校)", value):
        return None
    return entity("place", "住处", f"住在{value}")


def _origin(found: re.Match[str]) -> Claim | None:
    value = _value(found["value"])
    return entity("place", "来自", f"来自{value}") if value else None


def _working(found: re.Match[str]) -> Claim | None:
    value = _value(found["value"])
    if not value or re.match(
        "(?:家|考虑|考慮|想|找|准备|準備|打算|寻找|尋找|申请|申請|做|等|学|學|看|一边|一邊|努力|认真|認真|这|這|那|忙|一起|周|星期|晚上|早上|哪)",
        value,
    ):
        return None
    return entity("work", "工作", f"在{value}{found['act']}")


def _allergic(found: re.Match[str]) -> Claim | None:
    thing = _thing(found["thing"])
    return entity("health", f"对{thing}过敏", f"{'不' if found['not'] else ''}对{thing}过敏") if thing else None


def _being(found: re.Match[str]) -> Claim:
    diet = found["value"].startswith(("素", "纯素", "吃素"))
    return entity("health" if diet else "self", "饮食" if diet else found["value"], f"是{found['value']}")


def _rule(found: re.Match[str]) -> Claim | None:
    act = found["act"].strip(" ，,。！!")
    plain = re.sub("^(?:请|請|都|要|你|您|务必|務必|一律|只|用|不要|别|別|不用|不许|給我|给我)+", "", act)
    if not 2 <= len(act) <= 50 or not plain or re.match("(?:这|這|那)(?:样|樣|么|麼)", plain):
        return None
    language = re.search("(?:用|说|說).{0,3}(?:中文|英文|英语|英語|日语|法语|德语|粤语|普通话).{0,6}$", act)
    return preference("language of answers" if language else plain[:16], f"以后：{act}")


def _speaking(found: re.Match[str]) -> Claim:
    return preference("language of answers", f"用{found['language']}回答")


def _order(found: re.Match[str]) -> Claim | None:
    act = found["act"].strip(" ，,。！!了")
    return preference(act[:16], f"不要再{act}") if 2 <= len(act) <= 40 else None


_LANGUAGE: Final = "(?:中文|英文|英语|英語|日语|日語|日文|法语|法語|德语|德語|西班牙语|俄语|俄語|韩语|韓語|粤语|粵語|普通话|普通話|汉语|漢語)"
_COMPARED: Final = re.compile(
    r"(?:我)?(?:比起|相比|跟|和)(?P<than>[^，,]{1,12})[，,]?(?:相比)?[，,]?我?(?:更|比较|比較)(?:喜欢|喜歡|爱|愛|偏好)(?P<thing>.+)"
)
_NUMBER: Final = "(?:\\d{1,3}|[一二三四五六七八九十]{1,3})"
_IS: Final = "(?:现在|現在|应该|應該|其实|其實)?(?:是|叫|叫做|：|:)"
_RULES: Final = rules(
    (rf"我{_ADVERB}(?:更|比较|比較|更加)?(?:偏好|偏爱|偏愛|倾向于|傾向於|更喜欢|更喜歡|更爱|更愛)(?P<thing>.+)", _preferring),
    (r"我最(?:喜欢|喜歡|爱|愛)的(?P<thing>[^是，,]{1,10})(?:是|就是)(?P<value>.+)", _favourite),
    (rf"我{_ADVERB}(?:超级|超級|超)?(?P<verb>不太喜欢|不太喜歡|不怎么喜欢|不喜欢|不喜歡|不爱|不愛|不吃|不喝|喜欢|喜歡|热爱|熱愛|讨厌|討厭|厌恶|厭惡|受不了|爱吃|愛吃|爱喝|愛喝|爱看|愛看|爱听)(?P<thing>.+)", _liking),
    (r"我(?P<often>从来不|從來不|从不|從不|总是|總是|每天都?|每周都?|每週都?)(?P<act>.+)", _habit),
    (rf"(?:大家|朋友们?|同事们?|别人|家人|请|請|你|您|麻烦)?(?:都|平时都)?(?:可以|以后|就)?叫我(?P<value>[^，,]+){_TAIL}", _called),
    (rf"(?:你|您)?(?:可以|以后|就|请|請)*(?:称呼我|稱呼我)(?:为|為)?(?P<value>[^，,]+){_TAIL}", _called),
    (rf"我(?:的名字)?(?:叫|叫做|名叫|的名字是)(?P<value>[^，,]+){_TAIL}", _name),
    (rf"我(?:的)?(?P<who>(?:大|小|二|三)?(?:{_KIN}|{_PETS}))(?:的(?P<fact>{_FACT}))?(?P<is>{_IS})(?P<value>[^，,]+){_TAIL}", _related_fact),
    (rf"我(?:的)?(?P<who>(?:大|小|二|三)?(?:{_KIN}|{_PETS}))(?:今年|现在|現在)?(?P<value>{_NUMBER}(?:岁半?|歲半?|个月|個月))大?了?", _related_age),
    (rf"我(?:今年|现在|現在)?(?P<value>{_NUMBER}[岁歲])了?", fact_of("self", "年龄", "年龄：{value}")),
    (rf"我有(?P<value>{_NUMBER}|两|兩)(?:个|個|只|隻)(?P<who>孩子|小孩|{_KIN}|{_PETS}){_TAIL}", fact_of("self", "{who}的数量", "有{value}个{who}")),
    (rf"我(?:最近|现在|現在)?(?:正|一直)?在(?:学习|學習|学|學)(?P<value>[^，,这這那]{{1,6}}[语語文]|[A-Za-z+#]{{2,20}}){_TAIL}", fact_of("self", "在学", "在学{value}")),
    (r"(?:我|我们|我們)(?P<team>团队|團隊|公司|部门|部門|小组|小組|组)?(?:现在|現在|目前|一直|都)*(?:使用|用)(?P<thing>[^，,这這那它他她来來]{1,20})", _using),
    (rf"(?:我|我们|我們)(?:团队|團隊|公司)?的?(?P<fact>[^是的，,]{{0,8}}(?:日|时间|時間|例会|例會|分支|数据库|資料庫|服务器|伺服器|框架|语言|語言|版本))(?:现在|現在)?是(?:在)?(?P<value>(?:每?[周週]|每?星期|每[天月]|\d|[A-Za-z]|{_NUMBER}[点點月]).*)", _own_fact),
    (rf"我(?:养|養|有)了?(?:一|两|二|三)?(?:只|隻|条|條|个|個)?(?P<who>{_PETS})[，,]?(?:它|他|她)?(?:的)?(?P<fact>名字)?(?P<is>叫做|叫|是)(?P<value>[^，,]+){_TAIL}", _related_fact),
    (rf"我(?:的|家的)?(?P<fact>{_FACT}){_IS}(?P<value>.+)", _own_fact),
    (r"我(?:现在|現在|目前)?(?:住在|居住在|定居在|搬到了?|搬去了)(?P<value>.+)", _living),
    (r"我(?:来自|來自|是从|老家在|家在|出生在|出生于)(?P<value>.+?)(?:来的)?", _origin),
    (rf"我(?:现在|現在|目前)?在(?P<value>[^，,]{{2,24}}?)(?P<act>工作|上班|任职|任職|上学|上學|读书|讀書|读研|读大学|念书)(?:了)?{_TAIL}", _working),
    (rf"我(?:现在|現在|目前)?(?:是|做)(?:一名|一位|一个|一個|个|名)?(?P<value>[^，,的很]{{0,10}}(?:工程师|工程師|程序员|程式設計師|老师|老師|教师|医生|醫生|护士|護士|律师|律師|学生|學生|设计师|設計師|会计|會計|经理|經理|记者|記者|司机|厨师|廚師|研究员|科学家|作家|画家|警察|公务员)){_TAIL}", fact_of("work", "职业", "是{value}")),
    (rf"我(?P<not>不)?(?:对|對)(?P<thing>[^，,]{{1,16}}?)(?:严重|嚴重|有点|有點)?(?P<_>过敏|過敏)了?{_TAIL}", _allergic),
    (rf"我是(?:一个|一名|个)?(?P<value>素食主义者|素食者|纯素食者|左撇子|色盲|糖尿病患者|穆斯林){_TAIL}", _being),
    (rf"(?:请|請|麻烦|麻煩)(?:你|您)?(?:都|一律|始终|总是|只|一直)*(?:用|使用|以)(?:简体|簡體|繁体|繁體)?(?P<language>{_LANGUAGE})(?:来|來)?(?:回答|回复|回覆|答复|答覆|交流|对话|對話|沟通|溝通|跟我说|和我说|说|說)(?:我|吧)?", _speaking),
    (r"(?:请|請)?(?:以后|以後|从现在起|從現在起|从今以后|從今以後|今后|今後|从现在开始|從現在開始)[，,]?(?:你|您)?(?P<act>(?:请|請|都用|都要|要用|只用|不要|别|別|用|务必|務必|一律|不用|不许).+)", _rule),
    (r"(?:请|請)?(?:你|您)?(?:以后|以後)?(?:不要再|别再|別再|再也不要|不许再)(?P<act>(?:给|給|推荐|推薦|发|發|用|叫|提|问|問|建议|建議|使用|跟|向|提醒|安排|放|加|写|寫|说我|回|打).+)", _order),
)  # fmt: skip
