#include "sqlite_format/src/tree_writer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sqlite_format/sqlite_format.hpp"
#include "sqlite_format/src/descriptor.hpp"
#include "sqlite_format/src/table_page.hpp"

namespace sqlite_format {

namespace {

constexpr PageNumber pages_per_run = 64;  // 256 KiB
// The page with the byte at 1 GiB is used only for locks.
constexpr PageNumber lock_page = (std::size_t{1} << 30U) / page_size + 1;
constexpr std::size_t right_child_at = 8;  // in the header of an interior page
constexpr std::size_t child_size = 4;
// The maximum part of a record that stays on its page, according to the format.
constexpr std::size_t max_local_on_table_leaf = page_size - 35;
constexpr std::size_t max_local_on_index_page = (page_size - 12) * 64 / 255 - 23;
constexpr std::size_t overflow_content = page_size - child_size;

}  // namespace

NewPages::NewPages(int descriptor) : descriptor_(descriptor) {
  read_at(descriptor, header_.bytes.data(), header_.bytes.size(), 0);
  if (header_.number(change_counter_at) != header_.number(version_valid_for_at)) {
    throw Failure(SQLITE_INTERNAL, "the page count of the file is not known");
  }
  next_ = header_.number(page_count_at) + 1;
}

bool NewPages::is_supported() const {
  return header_.page_size() == page_size && header_.is_supported() &&
         header_.number(schema_format_at) == 4;
}

void NewPages::write(std::string_view pages, PageNumber first) const {
  write_at(descriptor_, pages, std::uint64_t{first - 1} * page_size);
}

PageRange NewPages::take() {
  const std::lock_guard lock(mutex_);
  if (next_ == lock_page) ++next_;
  const PageNumber begin = next_;
  next_ += pages_per_run;
  if (begin < lock_page && lock_page < next_) next_ = lock_page;
  return {begin, next_};
}

void NewPages::give_back(PageRange unused) {
  if (unused.begin == unused.end) return;
  const std::lock_guard lock(mutex_);
  unused_.push_back(unused);
  std::ranges::sort(unused_, {}, &PageRange::begin);
  for (; !unused_.empty() && unused_.back().end == next_; unused_.pop_back()) {
    next_ = unused_.back().begin;
  }
}

// Writes the trunk pages of the freelist: each has the number of the next one, the count of its
// leaf pages, and their numbers.
void NewPages::finish() {
  PageNumber first = header_.number(freelist_trunk_at);
  PageNumber count = header_.number(freelist_count_at);
  for (const PageRange& range : unused_) {
    std::string pages = four_bytes(first) + four_bytes(range.end - range.begin - 1);
    for (PageNumber page = range.begin + 1; page < range.end; ++page) pages += four_bytes(page);
    pages.resize((range.end - range.begin) * page_size);
    write(pages, range.begin);
    first = range.begin;
    count += range.end - range.begin;
  }
  header_.set(freelist_trunk_at, first);
  header_.set(freelist_count_at, count);
  header_.set(page_count_at, next_ - 1 == lock_page ? next_ - 2 : next_ - 1);
  const std::uint32_t changes = header_.number(change_counter_at) + 1;
  header_.set(change_counter_at, changes);
  header_.set(version_valid_for_at, changes);
  header_.bytes[write_version_at] = rollback_journal;
  header_.bytes[read_version_at] = rollback_journal;
  write({header_.bytes.data(), header_.bytes.size()}, 1);
}

PageAppender::PageAppender(NewPages& pages) : pages_(pages) {
  buffer_.reserve(pages_per_run * page_size);
}

PageNumber PageAppender::append(const PageBytes& page) {
  if (run_.begin == run_.end) {
    flush();
    run_ = pages_.take();
  }
  buffer_.append(page.data(), page.size());
  return run_.begin++;
}

void PageAppender::replace(PageNumber page, const PageBytes& bytes) const {
  pages_.write({bytes.data(), bytes.size()}, page);
}

void PageAppender::flush() {
  if (buffer_.empty()) return;
  pages_.write(buffer_, run_.begin - static_cast<PageNumber>(buffer_.size() / page_size));
  buffer_.clear();
}

void PageAppender::finish() {
  flush();
  pages_.give_back(std::exchange(run_, {}));
}

TreePage::TreePage(Kind kind) : kind_(kind) {
  bytes_[0] = static_cast<char>(kind);
}

bool TreePage::fits(std::size_t cell) const {
  return header_size() + 2 * (cells_ + 1) + cell <= content_;
}

void TreePage::add(std::string_view cell) {
  content_ -= cell.size();
  std::memcpy(bytes_.data() + content_, cell.data(), cell.size());
  write_number(bytes_.data() + header_size() + 2 * cells_, content_, 2);
  last_size_ = cell.size();
  ++cells_;
}

std::string TreePage::take_last() {
  std::string cell(bytes_.data() + content_, last_size_);
  std::memset(bytes_.data() + content_, 0, last_size_);  // SQLite would not clear the copy
  content_ += last_size_;
  --cells_;
  return cell;
}

void TreePage::set_right_child(PageNumber child) {
  write_number(bytes_.data() + right_child_at, child, child_size);
}

const PageBytes& TreePage::finish() {
  write_number(bytes_.data() + 3, cells_, 2);
  write_number(bytes_.data() + 5, content_, 2);
  return bytes_;
}

TreeWriter::TreeWriter(Kind kind, PageAppender& pages)
    : kind_(kind),
      pages_(pages),
      leaf_(kind == Kind::table ? TreePage::Kind::table_leaf : TreePage::Kind::index_leaf) {}

// Returns the cell of a record after `head`: the part of the record that stays on the page, and the
// number of its first overflow page.
const std::string& TreeWriter::cell_of(std::string_view head, std::string_view record) {
  const std::size_t most = kind_ == Kind::table ? max_local_on_table_leaf : max_local_on_index_page;
  cell_ = head;
  if (record.size() <= most) return cell_.append(record);
  const std::size_t local = local_size(record.size(), most, page_size);
  cell_.append(record.substr(0, local));
  return cell_.append(four_bytes(append_overflow(record.substr(local))));
}

// Writes overflow pages, the last one first, because each has the number of the next one; returns
// the number of the first.
PageNumber TreeWriter::append_overflow(std::string_view bytes) {
  PageNumber next = 0;
  while (!bytes.empty()) {
    const std::size_t begin = (bytes.size() - 1) / overflow_content * overflow_content;
    const std::string_view content = bytes.substr(begin);
    PageBytes page{};
    write_number(page.data(), next, child_size);
    std::memcpy(page.data() + child_size, content.data(), content.size());
    next = pages_.append(page);
    bytes.remove_suffix(content.size());
  }
  return next;
}

void TreeWriter::add_row(std::int64_t key, std::string_view record) {
  char head[2 * max_written_varint];
  char* end = put_varint(head, record.size());
  end = put_varint(end, static_cast<std::uint64_t>(key));
  const std::string& cell = cell_of({head, end}, record);
  if (!leaf_.fits(cell.size())) {
    std::string divider;
    append_varint(divider, static_cast<std::uint64_t>(last_key_));
    end_leaf(std::move(divider));
  }
  leaf_.add(cell);
  last_key_ = key;
}

void TreeWriter::add_entry(std::string_view record) {
  char head[max_written_varint];
  const std::string& cell = cell_of({head, put_varint(head, record.size())}, record);
  if (!divider_.empty()) {
    end_leaf(std::exchange(divider_, {}));
  } else if (!leaf_.fits(cell.size())) {
    divider_ = cell;
    return;
  }
  leaf_.add(cell);
}

void TreeWriter::end_leaf(std::string divider) {
  children_.push_back({pages_.append(leaf_.finish()), std::move(divider)});
  leaf_ = TreePage(kind_ == Kind::table ? TreePage::Kind::table_leaf : TreePage::Kind::index_leaf);
}

void TreeWriter::finish(PageNumber root) {
  if (!divider_.empty()) {
    // A leaf must not be empty: the entry moves to a last leaf, and the entry before it divides the
    // leaves.
    std::string divider = leaf_.take_last();
    end_leaf(std::move(divider));
    leaf_.add(std::exchange(divider_, {}));
  }
  if (children_.empty()) return pages_.replace(root, leaf_.finish());
  end_leaf({});
  while (!children_.empty()) children_ = write_level(children_, root);
}

// Writes the pages above `children`; returns them, or nothing if the only page is the root.
std::vector<TreeWriter::Child> TreeWriter::write_level(const std::vector<Child>& children,
                                                       PageNumber root) {
  const auto kind =
      kind_ == Kind::table ? TreePage::Kind::table_interior : TreePage::Kind::index_interior;
  std::vector<Child> parents;
  for (std::size_t at = 0; at < children.size();) {
    TreePage page(kind);
    // The last child of a page has no cell. The last page needs at least two children.
    while (at + 1 < children.size() && page.fits(child_size + children[at].divider.size())) {
      page.add(four_bytes(children[at].page) + children[at].divider);
      ++at;
    }
    if (at + 2 == children.size()) {
      // Otherwise the last page would have only the last child.
      page.take_last();
      --at;
    }
    page.set_right_child(children[at].page);
    const std::string& divider = children[at].divider;
    ++at;
    if (at == children.size() && parents.empty()) {
      pages_.replace(root, page.finish());
      return {};
    }
    parents.push_back({pages_.append(page.finish()), divider});
  }
  return parents;
}

}  // namespace sqlite_format
