# frozen_string_literal: true

require_relative "../../engine/gemfile"

module Tiercel
  module Lab
    module Tables
      module Compare
        # A version of a gem.
        class GemVersion < Side
          # The store that uses each gem.
          STORES = { "dalli" => "mem_cache_store", "redis" => "redis_cache_store",
                     "redis-client" => "redis_cache_store",
                     "hiredis-client" => "redis_cache_store", "litestack" => "litecache",
                     "solid_cache" => "solid_cache_store", "activesupport" => "memory_store",
                     "sqlite3" => "tiercel:sqlite:" }.freeze
          DEFAULT_STORE = "tiercel"

          # @return [String]
          attr_reader :gem_name

          # @param gem_name [String]
          # @param version [String]
          def initialize(gem_name, version)
            super()
            @gem_name = gem_name
            @version = Gem::Version.new(version)
          end

          def text = "#{gem_name}@#{@version}"

          def kind = "a version of a gem"

          def fingerprint = @version.canonical_segments

          def sameness = "these are the same version of #{gem_name}"

          def stores = [STORES.fetch(gem_name, DEFAULT_STORE)]

          def contestant(store, again: false)
            gemfile = Engine::Gemfile.based_on(Contestants.parse(store).bundle, name: gem_name,
                                               source: %("= #{@version}"))
                                     .write("#{text}#{"-again" if again}")
            placed(store, gemfile)
          end
        end
      end
    end
  end
end
