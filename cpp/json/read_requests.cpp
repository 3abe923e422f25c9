// Instantiates the reader for the bodies of requests.
#include "json/read.hpp"
#include "model/requests.hpp"

namespace comptroller::json {

template void Reader::read(std::string_view, UpdateIdentity&, const ReadOptions&);
template void Reader::read(std::string_view, PutIdentity&, const ReadOptions&);
template void Reader::read(std::string_view, CreateControl&, const ReadOptions&);
template void Reader::read(std::string_view, DeleteControl&, const ReadOptions&);
template void Reader::read(std::string_view, CreatePayoutGroup&, const ReadOptions&);
template void Reader::read(std::string_view, UpdatePayoutGroup&, const ReadOptions&);
template void Reader::read(std::string_view, ObservePayoutGroup&, const ReadOptions&);
template void Reader::read(std::string_view, CreateRewardAddress&, const ReadOptions&);
template void Reader::read(std::string_view, UpdateRewardAddress&, const ReadOptions&);
template void Reader::read(std::string_view, ObserveRewardAddress&, const ReadOptions&);
template void Reader::read(std::string_view, SubmitClaim&, const ReadOptions&);
template void Reader::read(std::string_view, ConfirmClaim&, const ReadOptions&);
template void Reader::read(std::string_view, FailClaim&, const ReadOptions&);

}  // namespace comptroller::json
