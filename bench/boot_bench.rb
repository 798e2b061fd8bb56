# frozen_string_literal: true

require "active_support"
require "rbconfig"
require "tmpdir"

# A process that builds a store and reads one name, including the start of Ruby. `bin/lab boot` measures its parts.
BOOT = 'require "active_support"; require "active_support/cache"; ' \
       'ActiveSupport::Cache.lookup_store(:tiercel_store, ARGV.first).read("name")'

Dir.mktmpdir.tap do |folder|
  at_exit { FileUtils.rm_rf(folder) }
  { "shared:" => "shared:#{folder}/segment?size=16MB", "memory:" => "memory:" }.each do |name, url|
    Tiercel::Lab.benchmark("boot of #{name}", clock: :wall, expect: true) do
      system(RbConfig.ruby, "-W0", "-e", BOOT, url)
    end
  end
end
