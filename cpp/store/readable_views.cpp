#include "store/readable_views.hpp"

#include "store/tables.hpp"

namespace comptroller::store {

std::vector<db::ReadableView> readable_views() {
  std::vector<db::ReadableView> views;
  for_each_table([&]<class R>() {
    db::ReadableView& view = views.emplace_back(R::table);
    for_each_field<R>([&]<class F>() {
      using T = bare<typename F::Type>;
      if constexpr (!is_derived<T>) {
        view.columns.push_back({F::name, FieldType<T>::storage, enum_texts<T>});
      }
    });
  });
  return views;
}

}  // namespace comptroller::store
