// Code that is not made for hostile input, tried in a child process before it is run.
#pragma once

#include <functional>

#include "manifest/base/result.h"

namespace kiln::dialects {

// Runs `work` in a child that may take `bytes` more memory than this process has and two minutes of processor
// time; what it changes is gone with it. kInvalidArgument: it crashed or went beyond a limit, so running it
// here would too; kUnavailable: there is no child to be had. Other threads of this process stay out of it, so
// `work` must not wait for them.
Status rehearse(std::uint64_t bytes, const std::function<void()>& work);

}  // namespace kiln::dialects
