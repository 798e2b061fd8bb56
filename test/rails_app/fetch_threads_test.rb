# frozen_string_literal: true

require_relative "support"

# Blocks of `fetch` that run in other threads of an application: the state that they see, and the state that they
# leave.
class RailsAppFetchThreadsTest < RailsAppTest
  SCRIPT = <<~'RUBY'
    class Current < ActiveSupport::CurrentAttributes
      attribute :account
    end
    class Audit
      def self.report(error, handled:, **) = (puts "reported #{error.class} handled=#{handled}")
    end
    Rails.error.subscribe(Audit)
    cache = Rails.cache
    pool = ActiveRecord::Base.connection_pool
    Rails.application.executor.wrap do
      caller = Thread.current
      Current.account = "acme"
      count = Product.count
      I18n.available_locales = [:en, :de]
      record = ActiveRecord::Base
      seen = record.while_preventing_writes do
        I18n.with_locale(:de) do
          cache.fetch("in time", timeout: 20) do
            [Thread.current == caller, Product.count == count, Current.account, I18n.locale,
             record.current_preventing_writes]
          end
        end
      end
      puts seen.inspect
      puts "after it #{record.current_preventing_writes} #{Current.account}"
      Product.transaction do
        Product.first.touch
        puts "in a transaction #{cache.fetch("row", timeout: 0.001) { sleep 0.05; Thread.current == caller }}"
      end
      begin
        cache.fetch("raises", timeout: 20) { raise IOError, "in the block" }
      rescue IOError => error
        puts "raised #{error.message}"
      end
      gate = Queue.new
      begin
        cache.fetch("late", timeout: 0.05) { gate.pop; Product.count }
      rescue Tiercel::FetchTimeout
        puts "left"
      end
      gate << 1
      sleep 0.01 until cache.exist?("late")
    end
    sleep 0.01 until Tiercel::Store::Fetch::TimedBlock.running.zero?
    puts "connections in use #{pool.stat[:busy]}"
  RUBY

  SEEN = [
    "[false, true, \"acme\", :de, true]", "after it false acme", "in a transaction true", "raised in the block", "left",
    "connections in use 0",
  ].freeze

  RailsApp::LINES.values_at(0, -1).each do |line|
    define_method("test_blocks_in_other_threads_on_rails_#{line.tr(".", "_")}") do
      with_app(line) do |app|
        with_tmpdir do |dir|
          app.cache_store = %(:tiercel_store, "shared:#{dir}/segment", { size: "16MB" })
          assert_equal SEEN, out(app.runner(SCRIPT)).lines(chomp: true)
        end
      end
    end
  end
end
