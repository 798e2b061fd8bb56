# frozen_string_literal: true

require_relative "../check"
require_relative "../../compressors"
require_relative "../../optional_gems"

module Tiercel
  class Doctor
    module Checks
      # Are the gems that make the store fast installed, in tested versions?
      class Gems < Check
        private

        # The gems of Rails' own stores: the oldest versions that are still maintained, and Rails' line for the
        # Gemfile.
        MAINTAINED = { redis_cache_store: ["redis", "5.0"], mem_cache_store: ["dalli", "3.2"],
                       solid_cache_store: ["solid_cache", "1.0"] }.freeze
        private_constant :MAINTAINED

        def examine
          return of_rails unless subject.tiercel?
          untested
          hiredis if subject.over?("Redis")
          compressor unless subject.last.near?
        end

        def untested
          OptionalGems::NEWEST.each do |gem, newest|
            version = Gem.loaded_specs[gem]&.version
            next if version.nil? || version < Gem::Version.new(newest).bump
            found("#{gem} #{version} is newer than the version that Tiercel was tested with (#{newest})",
                  fix: "#{gem} < #{Gem::Version.new(newest).bump} in the Gemfile, or a newer Tiercel")
          end
        end

        def of_rails
          gem, oldest = MAINTAINED[subject.kind]
          version = gem && Gem.loaded_specs[gem]&.version or return
          return sound("#{gem} #{version}") if version >= Gem::Version.new(oldest)
          found("#{gem} #{version} is no longer maintained", fix: "gem \"#{gem}\", \">= #{oldest}\" in the Gemfile")
        end

        def hiredis
          tls = subject.store.configuration.url.scheme.start_with?("rediss")
          return if tls || Gem.loaded_specs.key?("hiredis-client")
          found("hiredis-client is not in the bundle: large replies are parsed in Ruby", fix: 'gem "hiredis-client"')
        end

        def compressor
          return sound("values are compressed with LZ4") if Compressors.default == :lz4
          found("values are compressed with zlib, which takes 4 to 6 times as long as LZ4", fix: 'gem "lz4_flex"')
        end
      end
    end
  end
end
