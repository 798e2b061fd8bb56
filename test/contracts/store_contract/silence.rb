# frozen_string_literal: true

module Tiercel
  module Contracts
    module StoreContract
      # silence! and mute suppress log lines but not events.
      module Silence
        def test_silence
          silent = new_store
          assert_same silent, silent.silence!
          assert_predicate silent, :silence?
          assert_empty(log_of(silent) { silent.write("a", 1); silent.read("a"); silent.fetch("b") { 1 } })
          assert_equal(%w[read], events { silent.read("a") }.map(&:name))
        end

        def test_mute
          muted = nil
          log = log_of { muted = store.mute { store.write("a", 1); store.read("a") } }
          assert_empty log
          assert_equal 1, muted
          refute store.silence?
          assert_match(/Cache read/, log_of { store.read("a") })
        end
      end
    end
  end
end
