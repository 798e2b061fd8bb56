# frozen_string_literal: true

# `bin/rails -T` lists rake tasks, not commands. Each task runs the command of its name.
namespace :cache do
  { doctor: "Examine the application's cache stores", stats: "Print what the cache does and what it is worth",
    top: "Watch the cache", audit: "List stale values" }.each do |name, text|
    desc "#{text} (bin/rails cache:#{name} --help)"
    task name do
      require "rails/command"
      Rails::Command.invoke("cache:#{name}", [])
    end
  end
end
